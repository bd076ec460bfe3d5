package sandbox

import (
	"slices"

	"github.com/weirhost/weir/host/internal/instrument"
)

// kept are the custom sections that Info is read from; Rewrap never drops them.
var kept = []string{"go:buildid", "producers"}

// Rewrap returns a module with one custom section put at its end in place of
// all that had its name. strip drops the other custom sections too, such as
// names and debugging data, but those that say which compiler made the module.
// Equal arguments give equal bytes. The error is Inspect's.
func Rewrap(wasm []byte, name string, content []byte, strip bool) ([]byte, error) {
	s, err := parseModule(wasm)
	if err != nil {
		return nil, err
	}
	drop := func(other string) bool { return other == name || strip && !slices.Contains(kept, other) }
	return instrument.Custom(s.Report, name, content, drop), nil
}
