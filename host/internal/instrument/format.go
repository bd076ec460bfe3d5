package instrument

import (
	"encoding/binary"

	"github.com/weirhost/weir/host/internal/wasmcheck"
)

// header begins every module.
const header = "\x00asm\x01\x00\x00\x00"

func appendSection(out []byte, id byte, body []byte) []byte {
	out = binary.AppendUvarint(append(out, id), uint64(len(body)))
	return append(out, body...)
}

func appendName(out []byte, name string) []byte {
	return append(binary.AppendUvarint(out, uint64(len(name))), name...)
}

// Custom returns a checked module with one more custom section at its end. It
// leaves out the custom sections for whose name drop returns true. Everything else stays byte for byte.
func Custom(r *wasmcheck.Report, name string, content []byte, drop func(name string) bool) []byte {
	out := []byte(header)
	for _, s := range r.Sections {
		if s.ID != wasmcheck.SectionCustom || !drop(s.Name) {
			out = appendSection(out, s.ID, s.Body)
		}
	}
	return appendSection(out, wasmcheck.SectionCustom, append(appendName(nil, name), content...))
}
