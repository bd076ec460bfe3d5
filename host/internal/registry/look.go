package registry

import (
	"time"

	"github.com/weirhost/weir/host/internal/modindex"
	"github.com/weirhost/weir/host/internal/sandbox"
)

// A look is what the gate says of one module's bytes.
type look struct {
	modindex.Facts
	err error
}

// look sends a module through the gate. Bytes that the snapshot before knows
// are not decoded again, whatever file they lie in.
func (s *scan) look(wasm []byte) look {
	sum := digest(wasm)
	l, known := s.recall(sum)
	if !known {
		l = lookAt(wasm, sum)
	}
	s.remember(l)
	return l
}

func lookAt(wasm []byte, sum string) look {
	info, err := sandbox.Inspect(wasm)
	l := look{err: err, Facts: modindex.Facts{SHA256: sum, Bytes: len(wasm), IsGo: info.IsGo, Exports: info.Exports}}
	if manifest, packed := info.Sections[SectionName]; packed {
		l.Manifest = append([]byte{}, manifest...) // a part of the file, which can go
	}
	return l
}

// recall finds what this scan or the one before knows.
func (s *scan) recall(sum string) (look, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, known := s.snap.looks[sum]
	if !known && s.opt.Previous != nil {
		l, known = s.opt.Previous.looks[sum]
	}
	return l, known
}

// remember keeps a look for the scan after this one.
func (s *scan) remember(l look) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.snap.looks == nil {
		s.snap.looks = map[string]look{}
	}
	s.snap.looks[l.SHA256] = l
}

// module says what is known of a plugin's module. Its file is read unless the
// index knows it.
func (s *scan) module(p *Plugin) (look, []Problem) {
	p.index = s.opt.Index
	f := p.module()
	if l, ok := s.indexed(f, p.indexKey()); ok {
		return l, nil
	}
	began := s.time()
	file, info, err := f.read(maxWasm)
	if err != nil {
		return look{}, p.unread(err)
	}
	wasm, err := p.moduleOf(file)
	if err != nil {
		return look{err: err}, nil
	}
	l := s.look(wasm)
	if info != nil && l.err == nil && len(l.Manifest) <= maxManifest {
		s.opt.Index.Keep(p.indexKey(), info, began, l.Facts)
	}
	return l, nil
}

func (s *scan) time() time.Time {
	if s.now != nil {
		return s.now()
	}
	return time.Now()
}

// indexed is what the index says of a file as it lies there now.
func (s *scan) indexed(f place, path string) (look, bool) {
	if s.opt.Index == nil {
		return look{}, false
	}
	info, err := f.stat()
	if err != nil || info.Size() > maxWasm {
		return look{}, false
	}
	facts, ok := s.opt.Index.Find(path, info)
	if !ok {
		return look{}, false
	}
	l := look{Facts: facts}
	s.remember(l)
	return l, true
}

// is fills in what a module's bytes say of a plugin.
func (p *Plugin) is(l look) { p.WasmBytes, p.WasmSHA256, p.IsGo = l.Bytes, l.SHA256, l.IsGo }
