package sandbox

import (
	"encoding/binary"
	"slices"

	"github.com/weirhost/weir/host/internal/gate"
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
	out := slices.Clone(wasm[:8])
	add := func(id byte, body []byte) {
		out = append(out, id)
		out = binary.AppendUvarint(out, uint64(len(body)))
		out = append(out, body...)
	}
	for _, sec := range s.Sections {
		if sec.ID == gate.SectionCustom && (sec.Name == name || strip && !slices.Contains(kept, sec.Name)) {
			continue
		}
		add(sec.ID, sec.Body)
	}
	add(gate.SectionCustom, append(appendName(nil, name), content...))
	return out, nil
}
