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

// rerouted are imports of "extism:host/env" that go to hostModule instead: HTTP
// must pass the egress policy, logging must not depend on a level that the
// whole process shares, and a failed allocation, an output and an error text
// must be seen, for the SDK lets them vanish.
var rerouted = map[string]bool{
	"http_request": true, "http_status_code": true, "http_headers": true,
	"log_trace": true, "log_debug": true, "log_info": true, "log_warn": true, "log_error": true, "get_log_level": true,
	"alloc": true, "output_set": true, "error_set": true,
}

// rewrite returns the module with rerouted imports and the initialiser renamed.
// It changes names only; all indices keep their meaning. hasInit says that
// there is an initialiser to call.
func (s *structure) rewrite() (wasm []byte, hasInit bool) {
	init := s.initializer()
	out := []byte("\x00asm\x01\x00\x00\x00")
	for _, sec := range s.Sections {
		body := sec.Body
		switch sec.ID {
		case gate.SectionImport:
			body = s.encodeImports()
		case gate.SectionExport:
			body = s.encodeExports(init)
		case gate.SectionCustom:
			// Nothing in them changes what the code does; the manifest is read by
			// others, and names only make traces that nobody is shown.
			continue
		}
		out = append(out, sec.ID)
		out = binary.AppendUvarint(out, uint64(len(body)))
		out = append(out, body...)
	}
	return out, init != ""
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

func (s *structure) encodeImports() []byte {
	out := binary.AppendUvarint(nil, uint64(len(s.Imports)))
	for _, i := range s.Imports {
		module := i.Module
		if module == "extism:host/env" && rerouted[i.Name] {
			module = hostModule
		}
		out = appendName(out, module)
		out = appendName(out, i.Name)
		out = append(out, i.Desc...)
	}
	return out
}

func (s *structure) encodeExports(init string) []byte {
	out := binary.AppendUvarint(nil, uint64(len(s.Exports)))
	for _, e := range s.Exports {
		name := e.Name
		switch {
		case init == "" || e.Kind != gate.KindFunc:
		case name == init:
			name = initExport
		case name == "__wasm_call_ctors":
			name = "weir:ctors" // the other initialiser has done its work
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
