// Package judge checks strangers' manifests in child processes: their TOML is decoded,
// their schemas are compiled and their examples checked there first, within bounds of
// memory and CPU time that the kernel enforces. Only what the child accepted is read in
// this process.
//
// One child checks many manifests, one after the other ([Serve]). A scan has [Judges],
// which start a child at the first manifest that is not known to be sound. A manifest that
// ends its child is refused and quarantined; the next one gets another child.
package judge

import (
	"encoding/json"
	"errors"

	"github.com/weirhost/weir/host/internal/frames"
	"github.com/weirhost/weir/host/internal/jsonscan"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/sdk/tool"
)

// The kinds of frames: of the parent, then of the child.
const (
	kindManifest frames.Kind = iota + 1 // request; the text
	kindFile                            // fileMeta; its content
	kindWanted                          // wantedMeta
	kindVerdict                         // verdictMeta; a verdict as JSON
)

const (
	maxMeta    = 16 << 10
	maxText    = 1 << 20                  // of a manifest, or a file that it refers to; the registry reads less
	maxVerdict = 2 << 20                  // as JSON
	maxValues  = 50_000                   // of a verdict
	maxWanted  = 1000                     // files of a manifest; it has fewer tools
	maxWord    = 4 << 10                  // of a verdict's text
	maxSaid    = 2 * registry.MaxReported // problems of a verdict
)

// The small parts of frames, as JSON.
type (
	request struct {
		File   string
		Packed bool // there are no files that it may refer to
	}
	fileMeta    struct{ Missing bool }
	wantedMeta  struct{ Name string }
	verdictMeta struct{}
)

// A verdict is what the check of a manifest came to.
type verdict struct {
	Name, MinHost string
	Problems      []problem
}

type problem struct {
	Line, Col int
	Key       string
	Msg, Fix  msg.Wire
	Warning   bool
}

var (
	expectManifest = frames.Limits{kindManifest: {Meta: maxMeta, Data: maxText}}
	expectFile     = frames.Limits{kindFile: {Meta: maxMeta, Data: maxText}}
	fromChild      = frames.Limits{kindWanted: {Meta: maxMeta}, kindVerdict: {Meta: maxMeta, Data: maxVerdict}}
)

// Serve checks manifests in a child, until its parent ends it.
func Serve(in *frames.Reader, out *frames.Writer, seal func() error) error {
	if err := seal(); err != nil {
		return err
	}
	return serve(in, out, registry.Parse)
}

// A parser is registry.Parse.
type parser func(file string, text []byte, sound bool, beside func(string) ([]byte, error)) (registry.Manifest, []registry.Problem)

func serve(in *frames.Reader, out *frames.Writer, parse parser) error {
	for {
		f, err := in.Read(&expectManifest, nil)
		if err != nil {
			return nil // the parent has closed the pipe
		}
		r, err := frames.Decode[request](f)
		if err != nil {
			return err
		}
		beside := func(name string) ([]byte, error) { return want(in, out, name) }
		if r.Packed {
			beside = nil
		}
		text, err := json.Marshal(verdictOf(parse(r.File, f.Data, false, beside)))
		if err != nil {
			return err
		}
		if err := out.Write(kindVerdict, verdictMeta{}, text); err != nil {
			return err
		}
	}
}

// errMissing is the error of a file that the parent cannot read.
var errMissing = errors.New("there is no such file")

// want returns a file beside the manifest, which the parent reads.
func want(in *frames.Reader, out *frames.Writer, name string) ([]byte, error) {
	if len(name) > maxWord {
		return nil, errMissing
	}
	if err := out.Write(kindWanted, wantedMeta{name}, nil); err != nil {
		return nil, err
	}
	f, err := in.Read(&expectFile, nil)
	if err != nil {
		return nil, err
	}
	if m, err := frames.Decode[fileMeta](f); err != nil || m.Missing {
		return nil, errMissing
	}
	return f.Data, nil
}

func verdictOf(m registry.Manifest, problems []registry.Problem) verdict {
	v := verdict{Name: m.Name, MinHost: m.MinHost}
	for _, p := range problems {
		v.Problems = append(v.Problems, problem{p.Line, p.Col, p.Key, wire(p.Msg), wire(p.Fix), p.Warning})
	}
	return v
}

// wire returns a text for the parent; one that nests too deeply is in English.
func wire(t tool.Text) msg.Wire {
	w := msg.ToWire(t)
	if _, err := w.Text(clean); err != nil {
		return msg.Wire{Format: "%s", Args: []msg.Wire{{Word: t.String()}}}
	}
	return w
}

func clean(s string) string { return text.Clean(s[:min(len(s), maxWord)]) }

// ask is the parent's side of one manifest.
func ask(r *frames.Reader, w *frames.Writer, file string, text []byte, beside func(string) ([]byte, error)) (m registry.Manifest, problems []registry.Problem, err error) {
	if err := w.Write(kindManifest, request{file, beside == nil}, text); err != nil {
		return m, nil, err
	}
	for range maxWanted {
		f, err := r.Read(&fromChild, nil)
		if err != nil {
			return m, nil, err
		}
		if f.Kind == kindVerdict {
			return read(file, f.Data)
		}
		wanted, err := frames.Decode[wantedMeta](f)
		if err != nil || beside == nil {
			return m, nil, frames.ErrProtocol
		}
		content, missing := beside(wanted.Name)
		if err := w.Write(kindFile, fileMeta{missing != nil}, content); err != nil {
			return m, nil, err
		}
	}
	return m, nil, frames.ErrProtocol
}

// read returns what a verdict says.
func read(file string, text []byte) (m registry.Manifest, problems []registry.Problem, err error) {
	var v verdict
	if jsonscan.Count(text).Values > maxValues || json.Unmarshal(text, &v) != nil || len(v.Problems) > maxSaid || v.Name != "" && !tool.ValidName(v.Name) {
		return m, nil, frames.ErrProtocol
	}
	for _, p := range v.Problems {
		said, err := p.Msg.Text(clean)
		if err != nil {
			return m, nil, frames.ErrProtocol
		}
		fix, err := p.Fix.Text(clean)
		if err != nil {
			return m, nil, frames.ErrProtocol
		}
		problems = append(problems, registry.Problem{File: file, Line: max(0, p.Line), Col: max(0, p.Col), Key: clean(p.Key), Msg: said, Fix: fix, Warning: p.Warning})
	}
	return registry.Manifest{Name: v.Name, MinHost: clean(v.MinHost)}, problems, nil
}
