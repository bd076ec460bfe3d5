package registry

import (
	"context"
	"io/fs"
	"maps"
	"slices"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/tool"
)

// A Judge checks a manifest as Parse does, in another process. If it has errors, the
// Manifest has its Name and MinHost only; else it has nothing, and this process parses the
// text as a sound one. An error means that the check did not come to its end. name is that
// of the plugin's folder or file. A Judge is safe for concurrent use.
type Judge func(name, file string, text []byte, beside func(name string) ([]byte, error)) (Manifest, []Problem, error)

// judges sets the Judge of the scan, and returns what ends it.
func (s *scan) judges(ctx context.Context) (end func()) {
	if s.opt.Judges == nil {
		return func() {}
	}
	s.judge, end = s.opt.Judges(ctx)
	return end
}

// manifest sets a plugin's manifest from its text, and returns its problems. A text that
// was not sound before is parsed here only if the Judge found no error in it.
func (s *scan) manifest(name string, p *Plugin, file string, text []byte, open func(string) ([]byte, error)) (problems []Problem) {
	sum := p.ManifestSHA256
	asked, beside := p.files(open)
	if s.opt.Index.Sound(sum) {
		p.Manifest, problems = Parse(file, text, true, beside)
		if len(p.made.beside) == 0 || s.opt.Index.Sound(p.withFiles()) {
			return problems
		}
	}
	if s.judge != nil {
		var err error
		if p.Manifest, problems, err = s.judge(name, file, text, asked); err != nil {
			p.unjudged, p.WasmSHA256 = true, sum
			return []Problem{{File: file, Msg: msg.Of(err), Fix: tool.Textf("correct the manifest, or remove the plugin")}}
		}
		if len(errorsOf(problems)) > 0 {
			return problems
		}
	}
	p.Manifest, problems = Parse(file, text, s.judge != nil, beside)
	if len(errorsOf(problems)) == 0 {
		s.opt.Index.Vouch(sum)
		if len(p.made.beside) > 0 {
			s.opt.Index.Vouch(p.withFiles())
		}
	}
	return problems
}

// files returns what reads the files beside a manifest for a Judge, and for this process.
// Both get the same bytes. What a Judge asks for is no file of the plugin yet: a manifest
// may have taken its process over.
func (p *Plugin) files(open func(string) ([]byte, error)) (asked, beside func(string) ([]byte, error)) {
	if open == nil {
		return nil, nil
	}
	read := map[string][]byte{}
	asked = func(name string) (b []byte, err error) {
		b, known := read[name]
		if known {
			return b, nil
		}
		if len(read) == maxTools {
			return nil, fs.ErrNotExist
		}
		if b, err = open(name); err == nil {
			read[name] = b
		}
		return b, err
	}
	return asked, func(name string) ([]byte, error) {
		b, known := read[name]
		if !known {
			var err error
			if b, err = open(name); err != nil {
				return nil, err
			}
			read[name] = b
		}
		p.made.beside[name] = b
		return b, nil
	}
}

// withFiles returns the digest of a manifest and the files that it refers to.
func (p *Plugin) withFiles() string {
	all := p.ManifestSHA256
	for _, name := range slices.Sorted(maps.Keys(p.made.beside)) {
		all += "\n" + name + "\n" + digest(p.made.beside[name])
	}
	return digest([]byte(all))
}
