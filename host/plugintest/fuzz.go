package plugintest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/weirhost/weir/host/internal/schema"
	"github.com/weirhost/weir/sdk/tool"
)

// fuzzPrefix begins the names of outcomes of made up calls.
const fuzzPrefix = "fuzz/"

// Bounds of making up, for one tool.
const (
	fuzzTime    = 10 * time.Second // for all its calls
	shrinkTries = 300
	shrinkTime  = 20 * time.Second
)

// crashes are the failures that no arguments may lead to which fit the schema.
// A case that expects one shows a limit at work; its arguments are not tried again.
var crashes = []tool.Code{tool.Trapped, tool.OutOfMemory, tool.TimedOut}

// fuzz calls every tool with arguments that are made up: in the worlds of the
// files that say so, or else once in an empty one.
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

// declared is where the manifest declares a tool.
func (s *suite) declared(name string) Problem {
	src, root := openSource(s.manifest)
	if root.Table == nil {
		return Problem{File: s.manifest} // a packed plugin
	}
	list, _ := root.Values["tool"].([]map[string]any)
	for i, m := range list {
		if m["name"] == name {
			return src.at(root.Spot.Key("tool").Item(i).At)
		}
	}
	return Problem{File: s.manifest}
}

// A fuzzer makes calls of one tool up.
type fuzzer struct {
	*suite
	name   string
	world  world
	folder string
	net    *network
	schema *schema.Schema
	limit  time.Duration // the deadline of a call
	reply  *exchange     // what the network answers to requests that no case describes
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
	if seed == 0 {
		seed = 1
	}
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
		often := *x // a made up call need not make it, nor as it is expected
		often.times, often.headers, often.body, often.json = anyNumber, nil, nil, nil
		http = append(http, &often)
	}
	f.net = newNetwork(z.at, http)
	f.net.other = func() *exchange { return f.reply }
	var problems []Problem
	if f.folder, problems, err = s.bench.enter(ctx, name, w, f.net); err != nil {
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

// generator knows the tool's schema, and the values of its cases and examples.
func (f *fuzzer) generator(seed uint64, files []*file) (*generator, error) {
	info, _ := f.bench.host.Tool(f.name)
	schema, err := schema.Compile(info.Spec.Params)
	if err != nil {
		return nil, err
	}
	f.schema, f.limit = schema, info.Effective.Timeout
	g := &generator{rnd: rand.New(rand.NewPCG(seed, 0)), seen: map[string][]any{}}
	root, _ := decode(info.Spec.Params)
	g.root, _ = root.(map[string]any)
	for _, e := range info.Spec.Examples {
		g.learn(e.Args)
	}
	for _, file := range files {
		for _, c := range file.cases {
			if c.tool == f.name && !slices.Contains(crashes, c.expect.code) {
				g.learn(c.args)
			}
		}
	}
	return g, nil
}

// learn takes the values of arguments over.
func (g *generator) learn(args json.RawMessage) {
	v, err := decode(args)
	m, ok := v.(map[string]any)
	if err != nil || !ok {
		return
	}
	for name, value := range m {
		g.seen[name] = append(g.seen[name], value)
	}
}

func decode(text []byte) (v any, err error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	err = dec.Decode(&v)
	return v, err
}

// calls makes the calls, and stops at the first that should not end as it does.
func (f *fuzzer) calls(ctx context.Context, g *generator, calls int, at Problem) error {
	began := time.Now()
	for f.out.Calls < calls && time.Since(began) < fuzzTime {
		args := f.fitting(g)
		if f.out.Calls%4 == 3 {
			args = g.spoil(args)
		}
		f.reply = replies[g.rnd.IntN(len(replies))]
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
			return f.tell(ctx, args, r.Err, at)
		case !fits && r.Err == nil:
			p := at
			p.Msg = fmt.Sprintf("arguments that do not fit the schema were taken: %s", encode(args))
			f.out.Problems = append(f.out.Problems, p)
			return nil
		}
	}
	return nil
}

// fitting makes arguments up until some fit; after many tries it gives those
// that do not.
func (f *fuzzer) fitting(g *generator) (args map[string]any) {
	for range 50 {
		args, _ = g.value(g.root, "", 0).(map[string]any)
		if f.fits(args) {
			break
		}
	}
	return args
}

// fits reports whether arguments fit the schema. They are encoded and read
// again first, as a call's are.
func (f *fuzzer) fits(args map[string]any) bool {
	v, err := decode(encode(args))
	return err == nil && len(f.schema.Check(v)) == 0
}

func encode(args map[string]any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if args == nil || e.Encode(args) != nil {
		return json.RawMessage("{}")
	}
	return bytes.TrimSpace(b.Bytes())
}

// crashed reports whether a call came to what no arguments may lead to that fit
// the schema. A tool may say by itself that something took too long, or is too
// large: another server, for instance.
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
	f.bench.ahead.Add(int64(leap))
	r, err := f.bench.call(ctx, f.name, encode(args), f.world.locale)
	f.out.Took += r.Stats.Duration
	f.out.Memory = max(f.out.Memory, r.Stats.Memory)
	return r, err
}

// tell shrinks arguments that end a call as they should not, and tells of them.
func (f *fuzzer) tell(ctx context.Context, args map[string]any, e *tool.Error, at Problem) error {
	began, first := time.Now(), f.out.Calls
	var failed error
	small := shrink(args, shrinkTries, func(c map[string]any) bool {
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
	p.Msg = fmt.Sprintf("arguments that fit the schema end in %s", e)
	p.Fix = "mend the tool, or narrow the schema"
	p.Detail = fmt.Sprintf("call %d with seed %d; as a case:\n\n[[case]]\nname      = \"found by made up arguments\"\nargs_json = %s", first, f.report.Seed, quoted(string(encode(small))))
	f.out.Problems = append(f.out.Problems, p)
	return nil
}

// quoted writes a text as TOML does.
func quoted(s string) string {
	if !bytes.ContainsAny([]byte(s), "'\n\r\t\x7f") {
		return "'" + s + "'"
	}
	return string(encodeText(s))
}

func encodeText(s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a text always encodes
	return bytes.TrimSpace(b.Bytes())
}

// replies are what a network answers that nobody has described.
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
