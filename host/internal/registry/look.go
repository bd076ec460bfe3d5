package registry

import (
	"bytes"

	"github.com/weirhost/weir/host/internal/sandbox"
)

// A look is what the gate says of one module's bytes.
type look struct {
	info sandbox.Info // Sections hold the manifest alone, so that the file can go
	err  error
}

// look sends a module through the gate. Bytes that the snapshot before knows
// are not decoded again, whatever file they lie in.
func (s *scan) look(wasm []byte) (sum string, l look) {
	sum = digest(wasm)
	l, known := s.snap.looks[sum]
	if !known && s.opt.Previous != nil {
		l, known = s.opt.Previous.looks[sum]
	}
	if !known {
		l.info, l.err = sandbox.Inspect(wasm)
		manifest, packed := l.info.Sections[SectionName]
		l.info.Sections = map[string][]byte{}
		if packed {
			l.info.Sections[SectionName] = bytes.Clone(manifest)
		}
	}
	if s.snap.looks == nil {
		s.snap.looks = map[string]look{}
	}
	s.snap.looks[sum] = l
	return sum, l
}
