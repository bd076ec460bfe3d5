package sandbox

import (
	"slices"

	"github.com/weirhost/weir/host/internal/instrument"
)

// kept are the custom sections that Info needs; Rewrap never drops them.
var kept = []string{"go:buildid", "producers"}

// Rewrap returns a module with one custom section at its end, in place of all sections
// of that name. strip drops the other custom sections, such as names and debug data,
// except those that name the compiler. Equal arguments give equal bytes. The error is
// that of Inspect.
func Rewrap(wasm []byte, name string, content []byte, strip bool) ([]byte, error) {
	s, err := parseModule(wasm)
	if err != nil {
		return nil, err
	}
	drop := func(other string) bool { return other == name || strip && !slices.Contains(kept, other) }
	return instrument.Custom(s.Report, name, content, drop), nil
}
