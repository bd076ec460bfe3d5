package plugintest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/weirhost/weir/host/internal/schema"
	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/host/plugintest/internal/generate"
	"github.com/weirhost/weir/sdk/tool"
)

// fuzzPrefix begins the names of the outcomes of fuzzing.
const fuzzPrefix = "fuzz/"

// Bounds of the fuzzing of one tool.
const (
	fuzzTime    = 10 * time.Second // for all its calls
	shrinkTries = 300
	shrinkTime  = time.Minute
)

// crashes are the failures that no valid arguments may cause. A case that expects
// one tests a limit, and the generator does not use its arguments.
var crashes = []tool.Code{tool.Trapped, tool.OutOfMemory, tool.TimedOut}

// fuzz calls every tool with generated arguments: in the world of each file that
// configures fuzzing for it, else once in an empty world.
func (s *suite) fuzz(ctx context.Context, files []*file) error {
	if s.cfg.FuzzCalls < 0 {
		return nil
	}
	done := map[string]bool{}
	for _, f := range files {
		if f.fuzz == nil || len(f.problems) > 0 {
			continue
		}
		tools := s.bench.tools
		if f.tool != "" {
			tools = []string{f.tool}
		}
		for _, name := range tools {
			done[name] = true
			if err := s.fuzzOne(ctx, name, f.fuzz, f.world, files); err != nil {
				return err
			}
		}
	}
	for _, name := range s.bench.tools {
		if !done[name] {
			if err := s.fuzzOne(ctx, name, &fuzzing{at: s.declared(name), calls: -1}, world{}, files); err != nil {
				return err
			}
		}
	}
	return nil
}

// declared returns the position of a tool in the manifest.
func (s *suite) declared(name string) Problem {
	src, root := openSource(s.manifest)
	if root.Table == nil {
		return Problem{File: s.manifest} // a packed plugin
	}
	list, _ := root.Values["tool"].([]map[string]any)
	for i, m := range list {
		if m["name"] == name {
			return src.at(root.Position.Key("tool").Item(i).At)
		}
	}
	return Problem{File: s.manifest}
}

// A fuzzer calls one tool with generated arguments.
type fuzzer struct {
	*suite
	name   string
	world  world
	net    *network
	schema *schema.Schema
	limit  time.Duration // the deadline of a call
	reply  *exchange     // the response to requests that no case describes
	out    Outcome
}

func (s *suite) fuzzOne(ctx context.Context, name string, z *fuzzing, w world, files []*file) error {
	calls, seed := z.calls, z.seed
	if calls < 0 {
		calls = DefaultFuzzCalls
	}
	if s.cfg.FuzzCalls > 0 {
		calls = s.cfg.FuzzCalls
	}
	seed = cmp.Or(seed, 1)
	if s.cfg.Seed > 0 {
		seed = s.cfg.Seed
	}
	if calls == 0 || !s.chosen(fuzzPrefix+name) {
		return nil
	}
	s.report.Seed = seed
	f := &fuzzer{suite: s, name: name, world: w, out: Outcome{Name: fuzzPrefix + name, Tool: name, File: z.at.File, Line: z.at.Line, Col: z.at.Col}}
	g, err := f.generator(seed, files)
	if err != nil {
		return err
	}
	var http []*exchange
	for _, x := range w.http {
		often := *x // a generated call may make it any number of times, with any body
		often.times, often.headers, often.body, often.json = anyNumber, nil, nil, nil
		http = append(http, &often)
	}
	f.net = newNetwork(z.at, http)
	f.net.other = func() *exchange { return f.reply }
	var problems []Problem
	if _, problems, err = s.bench.enter(ctx, name, w, f.net); err != nil {
		return err
	}
	if f.out.Problems = placed(problems, z.at); len(problems) == 0 {
		err = f.calls(ctx, g, calls, z.at)
	}
	if err == nil {
		s.add(f.out)
	}
	return err
}

// generator returns a generator with the tool's schema and the values of its
// cases and examples.
func (f *fuzzer) generator(seed uint64, files []*file) (*generate.Generator, error) {
	info, _ := f.bench.host.Tool(f.name)
	schema, err := schema.Compile(info.Spec.Params)
	if err != nil {
		return nil, err
	}
	f.schema, f.limit = schema, info.Effective.Timeout
	g := generate.New(decodeObject(info.Spec.Params), seed)
	for _, e := range info.Spec.Examples {
		g.AddExample(decodeObject(e.Args))
	}
	for _, file := range files {
		for _, c := range file.cases {
			if c.tool == f.name && !slices.Contains(crashes, c.expect.code) {
				g.AddExample(decodeObject(c.args))
			}
		}
	}
	return g, nil
}

// decodeObject decodes a JSON object. It returns nil for anything else.
func decodeObject(text []byte) map[string]any {
	v, err := decode(text)
	m, ok := v.(map[string]any)
	if err != nil || !ok {
		return nil
	}
	return m
}

func decode(text []byte) (v any, err error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	err = dec.Decode(&v)
	return v, err
}

// calls makes the calls and stops at the first wrong result.
func (f *fuzzer) calls(ctx context.Context, g *generate.Generator, calls int, at Problem) error {
	began := time.Now()
	for f.out.Calls < calls && time.Since(began) < fuzzTime {
		args := f.validArgs(g)
		if f.out.Calls%4 == 3 {
			args = g.Invalid(args)
		}
		f.reply = replies[g.IntN(len(replies))]
		fits := f.fits(args)
		r, err := f.try(ctx, args)
		if err == nil && r.Err != nil && r.Err.Code == tool.TimedOut { // the machine may have been busy
			r, err = f.try(ctx, args)
		}
		if err != nil {
			return err
		}
		f.out.Calls++
		switch {
		case fits && f.crashed(r):
			return f.reportCrash(ctx, args, r.Err, at)
		case !fits && r.Err == nil:
			p := at
			p.Msg = tool.Textf("the plugin accepted arguments that do not fit the schema: %s", encode(args))
			f.out.Problems = append(f.out.Problems, p)
			return nil
		}
	}
	return nil
}

// validArgs generates arguments until some fit the schema. After 50 tries it
// returns the last ones, which do not.
func (f *fuzzer) validArgs(g *generate.Generator) (args map[string]any) {
	for range 50 {
		args = g.Args()
		if f.fits(args) {
			break
		}
	}
	return args
}

// fits reports whether arguments fit the schema. It encodes and decodes them
// first, like those of a call.
func (f *fuzzer) fits(args map[string]any) bool {
	v, err := decode(encode(args))
	return err == nil && len(f.schema.Check(v)) == 0
}

func encode(args map[string]any) json.RawMessage {
	s, err := text.JSON(args)
	if args == nil || err != nil {
		return json.RawMessage("{}")
	}
	return json.RawMessage(s)
}

// crashed reports whether a call failed in a way that no valid arguments may
// cause. A tool may report a timeout of its own, for example of another server;
// that is no crash.
func (f *fuzzer) crashed(r tool.Result) bool {
	if r.Err == nil {
		return false
	}
	switch r.Err.Code {
	case tool.Trapped, tool.OutOfMemory:
		return true
	case tool.TimedOut:
		return f.limit > 0 && r.Stats.Duration >= f.limit
	}
	return false
}

func (f *fuzzer) try(ctx context.Context, args map[string]any) (tool.Result, error) {
	f.bench.clockOffset.Add(int64(leap))
	r, err := f.bench.call(ctx, f.name, encode(args), f.world.locale)
	f.out.Took += r.Stats.Duration
	f.out.Memory = max(f.out.Memory, r.Stats.Memory)
	return r, err
}

// reportCrash shrinks arguments that crash a call and adds a problem with them.
func (f *fuzzer) reportCrash(ctx context.Context, args map[string]any, e *tool.Error, at Problem) error {
	began, first := time.Now(), f.out.Calls
	var failed error
	small := generate.Shrink(args, shrinkTries, func(c map[string]any) bool {
		if failed != nil || time.Since(began) > shrinkTime || !f.fits(c) {
			return false
		}
		r, err := f.try(ctx, c)
		failed = err
		if err == nil && f.crashed(r) && r.Err.Code == e.Code {
			e = r.Err
			return true
		}
		return false
	})
	if failed != nil {
		return failed
	}
	p := at
	p.Msg = tool.Textf("arguments that fit the schema cause: %s", e)
	p.Fix = tool.Textf("fix the tool, or narrow the schema")
	p.Detail = fmt.Sprintf("call %d with seed %d; the same as a case:\n\n[[case]]\nname      = \"found by fuzzing\"\nargs_json = %s", first, f.report.Seed, quoted(string(encode(small))))
	f.out.Problems = append(f.out.Problems, p)
	return nil
}

// quoted returns a text as a TOML string.
func quoted(s string) string {
	if !bytes.ContainsAny([]byte(s), "'\n\r\t\x7f") {
		return "'" + s + "'"
	}
	quoted, _ := text.JSON(s) // a text always encodes
	return quoted
}

// replies are responses to requests that no case describes.
var replies = []*exchange{
	{status: 404, data: []byte("not found")},
	{status: 500},
	{status: 200},
	{status: 200, data: []byte("{}")},
	{status: 200, data: []byte("[]")},
	{status: 200, data: []byte("null")},
	{status: 200, data: []byte(`{"results":null,"items":[1,"a",{}],"error":{"code":1}}`)},
	{status: 200, data: []byte("<!doctype html><title>a</title><p>b &amp; <b>c")},
	{status: 200, data: []byte("\xff\xfe\x00broken"), replied: map[string]string{"Content-Type": "application/json"}},
	{status: 302, replied: map[string]string{"Location": "https://elsewhere.example/"}},
	{fail: failTimeout},
	{fail: failNone},
}
