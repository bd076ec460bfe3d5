package registry

import (
	"time"

	"github.com/weirhost/weir/host/internal/modindex"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/host/internal/within"
)

// moduleFacts are the results of checking one module.
type moduleFacts = modindex.Facts

// inspect checks a module. It does not decode bytes again that the previous
// snapshot knows, whatever their file.
func (s *scan) inspect(wasm []byte) moduleFacts {
	sum := digest(wasm)
	l, known := s.cachedFacts(sum)
	if !known {
		l = inspectModule(wasm, sum)
	}
	s.cacheFacts(l)
	return l
}

func inspectModule(wasm []byte, sum string) moduleFacts {
	info, err := sandbox.Inspect(wasm)
	l := moduleFacts{Err: err, SHA256: sum, Bytes: len(wasm), IsGo: info.IsGo, Exports: info.Exports}
	if manifest, packed := info.Sections[SectionName]; packed {
		l.Manifest = append([]byte{}, manifest...) // a copy, to release the file's bytes
	}
	return l
}

// cachedFacts returns the facts from this scan or the previous one.
func (s *scan) cachedFacts(sum string) (moduleFacts, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, known := s.snap.facts[sum]
	if !known && s.opt.Previous != nil {
		l, known = s.opt.Previous.facts[sum]
	}
	return l, known
}

// cacheFacts stores facts for the next scan.
func (s *scan) cacheFacts(l moduleFacts) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.snap.facts == nil {
		s.snap.facts = map[string]moduleFacts{}
	}
	s.snap.facts[l.SHA256] = l
}

// module returns the facts of a plugin's module. It reads the file unless the
// index contains it.
func (s *scan) module(p *Plugin) (moduleFacts, []Problem) {
	p.index = s.opt.Index
	f := p.module()
	if l, ok := s.indexed(f, p.indexKey()); ok {
		return l, nil
	}
	began := s.time()
	file, info, err := f.Read(maxWasm)
	if err != nil {
		return moduleFacts{}, p.unread(err)
	}
	wasm, err := p.moduleOf(file)
	if err != nil {
		return moduleFacts{Err: err}, nil
	}
	l := s.inspect(wasm)
	if info != nil && len(l.Manifest) <= maxManifest {
		s.opt.Index.Keep(p.indexKey(), info, began, l)
	}
	return l, nil
}

func (s *scan) time() time.Time {
	if s.now != nil {
		return s.now()
	}
	return time.Now()
}

// indexed returns the facts in the index for the current state of a file.
func (s *scan) indexed(f within.Place, path string) (moduleFacts, bool) {
	if s.opt.Index == nil {
		return moduleFacts{}, false
	}
	info, err := f.Stat()
	if err != nil || info.Size() > maxWasm {
		return moduleFacts{}, false
	}
	l, ok := s.opt.Index.Find(path, info)
	if ok {
		s.cacheFacts(l)
	}
	return l, ok
}

// setFacts copies the facts of the module to the plugin.
func (p *Plugin) setFacts(l moduleFacts) {
	p.WasmBytes, p.WasmSHA256, p.IsGo = l.Bytes, l.SHA256, l.IsGo
}
