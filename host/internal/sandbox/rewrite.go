package sandbox

import (
	"encoding/binary"

	"github.com/weirhost/weir/host/internal/gate"
)

// Names that modules are given before the engine sees them.
const (
	// ownPrefix begins them; a module that exports such a name itself is refused.
	ownPrefix = "weir:"
	// hostModule holds our own versions of functions that Extism's SDK offers
	// in a way we cannot live with.
	hostModule = "weir:host"
	// initExport is a guest's initialiser under a name that the SDK does not
	// look for, so that it runs when the instance is made, and once.
	initExport = "weir:init"
)

// renamed returns the module with other names of imports and exports, and
// without the custom sections: nothing in them changes what the code does; the
// manifest is read by others, and names only make traces that nobody is shown.
// All indices keep their meaning.
func (s *structure) renamed(n names) []byte {
	out := []byte("\x00asm\x01\x00\x00\x00")
	for _, sec := range s.Sections {
		body := sec.Body
		switch sec.ID {
		case gate.SectionImport:
			body = s.encodeImports(n)
		case gate.SectionExport:
			body = s.encodeExports(n)
		case gate.SectionCustom:
			continue
		}
		out = append(out, sec.ID)
		out = binary.AppendUvarint(out, uint64(len(body)))
		out = append(out, body...)
	}
	return out
}

// names says what a module's names become.
type names struct {
	imports func(gate.Import) (module string)
	exports func(gate.Export) string // nil: they stay
}

// initializer names the export that sets a guest's runtime up, or "". A module
// with a Haskell runtime is left to the SDK, which knows what it needs.
func (s *structure) initializer() string {
	if _, ok := s.function("hs_init"); ok {
		return ""
	}
	for _, name := range []string{"_initialize", "__wasm_call_ctors"} {
		if sig, ok := s.function(name); ok && sig == (gate.Signature{}) {
			return name
		}
	}
	return ""
}

func (s *structure) encodeImports(n names) []byte {
	out := binary.AppendUvarint(nil, uint64(len(s.Imports)))
	for _, i := range s.Imports {
		out = appendName(out, n.imports(i))
		out = appendName(out, i.Name)
		out = append(out, i.Desc...)
	}
	return out
}

func (s *structure) encodeExports(n names) []byte {
	out := binary.AppendUvarint(nil, uint64(len(s.Exports)))
	for _, e := range s.Exports {
		name := e.Name
		if n.exports != nil {
			name = n.exports(e)
		}
		out = appendName(out, name)
		out = append(out, e.Kind)
		out = binary.AppendUvarint(out, uint64(e.Index))
	}
	return out
}

func appendName(out []byte, name string) []byte {
	out = binary.AppendUvarint(out, uint64(len(name)))
	return append(out, name...)
}
