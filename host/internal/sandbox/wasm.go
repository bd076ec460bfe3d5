package sandbox

import (
	"github.com/weirhost/weir/host/internal/instrument"
	"github.com/weirhost/weir/host/internal/wasmcheck"
)

// Names that are added to modules before they are compiled.
const (
	// ownPrefix begins these names; a module that exports such a name is refused.
	ownPrefix = instrument.Prefix
	// hostModule has our own versions of functions that Extism's SDK offers
	// in an unsafe way.
	hostModule = ownPrefix + "host"
	// initExport is a guest's initializer under a name that the SDK does not
	// look for, so it runs once, when the instance is created.
	initExport = ownPrefix + "init"
)

// structure is the checked structure of a module, with methods that answer questions
// about it. Package wasmcheck is the only reader of the format.
type structure struct{ *wasmcheck.Report }

// parseModule checks a module. Its errors are sentences that say what is wrong with
// the file.
func parseModule(wasm []byte) (*structure, error) {
	r, err := wasmcheck.Check(wasm, wasmcheck.Limits{})
	if err != nil {
		return nil, err
	}
	return &structure{r}, nil
}

// trim drops references to the file's bytes after the module was compiled.
func (s *structure) trim() { s.Sections, s.Imports, s.Custom = nil, nil, nil }

// function returns the signature of an exported function; ok is false if there is
// none.
func (s *structure) function(name string) (sig wasmcheck.Signature, ok bool) {
	for _, e := range s.Exports {
		if e.Name == name && e.Kind == wasmcheck.KindFunc {
			return s.Types[s.Functions[e.Index]], true
		}
	}
	return wasmcheck.Signature{}, false
}
