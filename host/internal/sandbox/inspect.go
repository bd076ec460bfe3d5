package sandbox

import (
	"bytes"
	"slices"
)

// Info is what a module's file tells about itself.
type Info struct {
	Exports  []string          // names of exported functions, in the file's order
	Imports  []string          // "module.name" of everything imported, in the file's order
	Sections map[string][]byte // custom sections by name, parts of the file itself; of equal names the first
	IsGo     bool              // built by the Go toolchain, whose runtime wants more memory
}

// Inspect looks at a module without any engine and without running it. It
// takes memory and time in proportion to the file. The error is a sentence
// saying what the file is instead, or where it is damaged; a module that passes
// may still be refused by the engine.
func Inspect(wasm []byte) (Info, error) {
	s, err := parseModule(wasm)
	if err != nil {
		return Info{}, err
	}
	return s.info(), nil
}

func (s *structure) info() Info {
	info := Info{Sections: s.custom}
	for _, e := range s.exports {
		if e.kind == kindFunc {
			info.Exports = append(info.Exports, e.name)
		}
	}
	for _, i := range s.imports {
		info.Imports = append(info.Imports, i.module+"."+i.name)
	}
	_, stamped := s.custom["go:buildid"]
	info.IsGo = (stamped || bytes.Contains(s.custom["producers"], []byte("\x02Go"))) && slices.Contains(info.Exports, "_initialize")
	return info
}
