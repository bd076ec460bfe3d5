package sandbox

import (
	"bytes"
	"slices"

	"github.com/weirhost/weir/host/internal/wasmcheck"
)

// Info describes a module by its file alone.
type Info struct {
	Exports  []string          // names of exported functions, in the file's order
	Imports  []string          // "module.Name" of everything imported, in the file's order
	Sections map[string][]byte // custom sections by name, parts of the file itself; of equal names the first
	IsGo     bool              // built by the Go toolchain, whose runtime needs more memory
}

// Inspect checks a module without an engine and without running it. Its memory and
// time are proportional to the file. The error is a sentence that says what is wrong;
// a module that passes may still be refused by the engine.
func Inspect(wasm []byte) (Info, error) {
	s, err := parseModule(wasm)
	if err != nil {
		return Info{}, err
	}
	return s.info(), nil
}

func (s *structure) info() Info {
	info := Info{Sections: s.Custom}
	for _, e := range s.Exports {
		if e.Kind == wasmcheck.KindFunc {
			info.Exports = append(info.Exports, e.Name)
		}
	}
	for _, i := range s.Imports {
		info.Imports = append(info.Imports, i.Module+"."+i.Name)
	}
	_, stamped := s.Custom["go:buildid"]
	info.IsGo = (stamped || bytes.Contains(s.Custom["producers"], []byte("\x02Go"))) && slices.Contains(info.Exports, "_initialize")
	return info
}
