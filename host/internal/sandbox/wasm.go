package sandbox

import (
	"github.com/weirhost/weir/host/internal/instrument"
	"github.com/weirhost/weir/host/internal/wasmcheck"
)

// Names that modules are given before the engine sees them.
const (
	// ownPrefix begins them; a module that exports such a name itself is refused.
	ownPrefix = instrument.Prefix
	// hostModule holds our own versions of functions that Extism's SDK offers
	// in a way we cannot live with.
	hostModule = ownPrefix + "host"
	// initExport is a guest's initialiser under a name that the SDK does not
	// look for, so that it runs when the instance is made, and once.
	initExport = ownPrefix + "init"
)

// structure is what the gate saw of a module, with the questions that are asked
// of it here. There is no other reader of the format in the house.
type structure struct{ *wasmcheck.Report }

// parseModule sends a module through the gate. Its errors are sentences that
// say what is wrong with the file.
func parseModule(wasm []byte) (*structure, error) {
	r, err := wasmcheck.Check(wasm, wasmcheck.Limits{})
	if err != nil {
		return nil, err
	}
	return &structure{r}, nil
}

// trim drops what refers to the file's bytes, once the module is compiled.
func (s *structure) trim() { s.Sections, s.Imports, s.Custom = nil, nil, nil }

// function finds an exported function; ok is false when there is none of the name.
func (s *structure) function(name string) (sig wasmcheck.Signature, ok bool) {
	for _, e := range s.Exports {
		if e.Name == name && e.Kind == wasmcheck.KindFunc {
			return s.Types[s.Functions[e.Index]], true
		}
	}
	return wasmcheck.Signature{}, false
}
