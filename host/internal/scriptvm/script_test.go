package scriptvm

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirhost/weir/host/internal/guesttest"
)

// engine is one Runtime for all tests.
var engine = sync.OnceValues(func() (*Runtime, error) {
	dir, err := guesttest.CacheDir()
	if err != nil {
		return nil, err
	}
	return Open(context.Background(), Options{StepTime: 2 * time.Second, CacheDir: dir})
})

// openWith opens another Runtime, whose engine is compiled already.
func openWith(t testing.TB, o Options) *Runtime {
	t.Helper()
	o.CacheDir = guesttest.Cache(t)
	r, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(context.WithoutCancel(t.Context())) })
	return r
}

func open(t testing.TB) *Runtime {
	t.Helper()
	r, err := engine()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A host answers what a script asks for.
type host func(w Want) Answer

// value answers with a value.
func value(w Want, v any) Answer {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return Answer{ID: w.ID, Value: b}
}

// play runs a script to its end, and returns its output, joined.
func play(t testing.TB, source string, h host) (string, State) {
	t.Helper()
	s, state, err := open(t).Start(t.Context(), source, Setting{Tools: []string{"echo", "big"}, Args: json.RawMessage(`{"n": 3}`)})
	if err != nil {
		t.Fatalf("%s: %v", source, err)
	}
	defer s.Close(t.Context())
	for !state.Done {
		if len(state.Wants) == 0 {
			t.Fatalf("%s: it waits for nothing", source)
		}
		var answers []Answer
		for _, w := range state.Wants {
			answers = append(answers, h(w))
		}
		if state, err = s.Step(t.Context(), answers); err != nil {
			t.Fatalf("%s: %v", source, err)
		}
	}
	return joined(state), state
}

func joined(state State) string {
	var out []string
	for _, p := range state.Output {
		var text string
		if json.Unmarshal(p, &text) != nil {
			text = string(p)
		}
		out = append(out, text)
	}
	return strings.Join(out, "|")
}

// tools is a host whose tool echo returns its arguments, and big a text of 100,000
// characters.
func tools(w Want) Answer {
	long := strings.Repeat("line of text\n", 10_000)
	switch {
	case w.Kind == "call" && w.Tool == "echo":
		return value(w, map[string]any{"tool": "echo", "uuid": "u-echo", "chars": len(w.Args), "lines": 1, "text": string(w.Args)})
	case w.Kind == "call" && w.Tool == "big":
		return value(w, map[string]any{"tool": "big", "uuid": "u-big", "chars": len(long), "lines": 10_000})
	case w.Kind == "text" && w.UUID == "u-big":
		return value(w, long)
	case w.Kind == "part":
		return value(w, "part "+string(w.Part))
	case w.Kind == "find":
		return value(w, []string{w.Query})
	}
	return Answer{ID: w.ID, Fault: &Fault{Code: "unknown_tool", Message: "there is no tool " + w.Tool, Hint: "ask for another"}}
}

func TestScripts(t *testing.T) {
	for _, tt := range []struct{ name, source, want string }{
		{"a value", "return 1 + 1", "2"},
		{"an object", "return {a: [1]}", "{\n \"a\": [\n  1\n ]\n}"},
		{"nothing", "", ""},
		{"text()", "text('a'); text({b: 1}); return 'c'", "a|{\n \"b\": 1\n}|c"},
		{"a call", "const r = await tools.echo({x: 1}); return r.chars + ' ' + r", `7 {"x":1}`},
		{"calls at once", "const all = await Promise.all([1, 2, 3].map((i) => tools.echo({i}))); return all.map(String).join()", `{"i":1},{"i":2},{"i":3}`},
		{"one after the other", "let out = ''; for (let i = 0; i < 3; i++) out += await tools.echo({i}); return out", `{"i":0}{"i":1}{"i":2}`},
		{"a long one", "const r = await tools.big(); return (await r.text()).length", "130000"},
		{"a part", "const r = await tools.big(); return r.part({lines: '1-2'})", `part {"lines":"1-2","uuid":"u-big"}`},
		{"a long one in passing", "const r = await tools.big(); try { return `${r}` } catch (e) { return e.message }", "the result of big has 130000 characters, too many for a text in passing; write await r.text(), or r.part({grep: \"…\"})"},
		{"a result as an argument", "const r = await tools.big(); return String(await tools.echo({body: r}))", `{"body":"@result:u-big"}`},
		{"a result as the answer", "return tools.big()", `{"result":"u-big"}`},
		{"JSON", "const r = await tools.echo({x: [1, 2]}); return (await r.json()).x[1]", "2"},
		{"a table", "const r = await tools.echo({}); class P extends Object {} return 'ok'", "ok"},
		{"an error caught", "try { await tools.nope() } catch (e) { return e.code + ': ' + e.message }", "unknown_tool: there is no tool nope (ask for another)"},
		{"store", "store('k', {a: 1}); return load('k').a + load('none')", "NaN"},
		{"exit", "text('before'); exit(); text('after')", "before"},
		{"all tools", "return ALL_TOOLS.join() + ('echo' in tools) + ('x' in tools) + Object.keys(tools)", "echo,bigtruefalseecho,big"},
		{"arguments", "try { args.n = 4; args = 1 } catch {} return args.n", "3"},
		{"found", "return (await tools.find('weather'))[0]", "weather"},
		{"no globals of others", "return [typeof process, typeof require, typeof fetch, typeof std, typeof os].join()", "undefined,undefined,undefined,undefined,undefined"},
		{"overwritten", "tools = 1; tools.echo = 2; return typeof tools + typeof tools.echo", "objectfunction"},
		{"a prelude that is attacked", "Array.prototype.push = () => { throw 1 }; JSON.stringify = () => '{}'; Map.prototype.get = () => 1; Promise.prototype.then = undefined; return 'x'", "x"},
	} {
		if got, state := play(t, tt.source, tools); got != tt.want {
			t.Errorf("%s: %q, wanted %q (%+v)", tt.name, got, tt.want, state.Fault)
		}
	}
}

func TestFaults(t *testing.T) {
	for _, tt := range []struct {
		name, source, want string
		line, column       int
	}{
		{"syntax", "const a = 1;\nreturn a +;", "SyntaxError", 2, 11},
		{"an end that is missing", "const a = 1;\nreturn (\n", "SyntaxError", 2, 0},
		{"syntax in the first line", "return +;", "SyntaxError", 1, 9},
		{"thrown", "\n\nthrow new Error('no')", "Error: no", 3, 11},
		{"in a function", "function f() {\n  return undefined.x;\n}\nf();", "TypeError: cannot read property 'x' of undefined", 2, 10},
		{"a tool's", "await tools.echo({});\nawait tools.nope({});", "ToolError: there is no tool nope (ask for another)", 2, 13},
		{"no Error", "throw {a: 1}", `the script threw {"a":1}`, 0, 0},
		{"a ring", "const a = {}; a.a = a; return a", "TypeError: circular reference", 0, 0},
		{"a ring as arguments", "const a = {}; a.a = a; await tools.echo(a)", "TypeError: the arguments cannot be written as JSON: circular reference", 1, 0},
		{"the wrapper left", "}); (() => {", "", 0, 0},
	} {
		_, state := play(t, tt.source, tools)
		if tt.want == "" {
			continue
		}
		f := state.Fault
		if f == nil || !strings.HasPrefix(f.Message, tt.want) || f.Line != tt.line || tt.column > 0 && f.Column != tt.column {
			t.Errorf("%s: %+v, wanted %q at %d:%d", tt.name, f, tt.want, tt.line, tt.column)
		}
	}
	if _, state := play(t, "tools.echo({}); tools.echo({}); await tools.echo({}); tools.echo({}); return 1", tools); len(state.Idle) != 2 || len(state.Wants) != 1 {
		t.Errorf("of two calls that nobody awaits it says %q, of one that has not begun %v", state.Idle, state.Wants)
	}
}

// What a script does to itself ends it with an error, and harms no other.
func TestBounds(t *testing.T) {
	r := openWith(t, Options{StepTime: 300 * time.Millisecond})
	for _, tt := range []struct {
		name, source string
		want         error
	}{
		{"too long", strings.Repeat(" ", MaxSource+1), ErrSource},
		{"no text", "\xff", ErrSource},
		{"an endless loop", "for (;;) {}", ErrTime},
		{"an endless loop that catches", "for (;;) { try { for (;;) {} } catch {} }", ErrTime},
		{"jobs without end", "async function f() { await null; f() } f(); await new Promise(() => {})", ErrTime},
		{"a regular expression", "return /^(a+)+$/.test('a'.repeat(40) + 'b')", ErrTime},
	} {
		_, _, err := r.Start(t.Context(), tt.source, Setting{})
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, wanted %v", tt.name, err, tt.want)
		}
	}
	for name, source := range map[string]string{
		"memory":          "const a = []; for (;;) a.push(new Array(100000).fill(1))",
		"a text":          "let a = 'x'; for (;;) a += a",
		"recursion":       "function f() { return f() + 1 } return f()",
		"buffers":         "const a = []; for (;;) a.push(new ArrayBuffer(1 << 20))",
		"promises":        "const a = []; for (;;) a.push(tools.echo({}))",
		"deep JSON":       "let a = '['.repeat(200000); return JSON.parse(a)",
		"a deep argument": "let a = {}; for (let i = 0; i < 100000; i++) a = {a}; await tools.echo(a)",
	} {
		s, state, err := r.Start(t.Context(), source, Setting{})
		if err == nil && state.Fault == nil {
			t.Errorf("%s: it ends well", name)
		}
		if s != nil {
			s.Close(t.Context())
		}
		t.Log(name, err, state.Fault)
	}
	if got, _ := play(t, "return 'alive'", tools); got != "alive" {
		t.Error(got)
	}
}

// A script that asks again and again computes for no longer than Options.Time in all.
func TestTimeOfAllSteps(t *testing.T) {
	r := openWith(t, Options{StepTime: time.Second, Time: time.Second})
	s, state, err := r.Start(t.Context(), "for (;;) { await tools.echo({}); for (let i = 0; i < 200000; i++); }", Setting{})
	for n := 0; err == nil; n++ {
		if n == 5_000 {
			t.Fatal("it goes on for ever")
		}
		state, err = s.Step(t.Context(), []Answer{tools(state.Wants[0])})
	}
	if !errors.Is(err, ErrTime) {
		t.Error(err)
	}
}

// A snapshot goes on in another instance as if nothing had been.
func TestSnapshot(t *testing.T) {
	r := open(t)
	source := `const all = [];
for (let i = 0; i < 3; i++) {
  const [a, b] = await Promise.all([tools.echo({i}), tools.echo({j: i})]);
  all.push(String(a) + b);
}
const m = new Map([['k', all]]);
return m.get('k').join(';')`
	want, _ := play(t, source, tools)
	s, state, err := r.Start(t.Context(), source, Setting{Tools: []string{"echo"}})
	if err != nil {
		t.Fatal(err)
	}
	for !state.Done {
		snapshot, err := s.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		t.Log(len(snapshot), "bytes")
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s, err = r.Resume(t.Context(), snapshot); err != nil {
			t.Fatal(err)
		}
		var answers []Answer
		for _, w := range state.Wants {
			answers = append(answers, tools(w))
		}
		if state, err = s.Step(t.Context(), answers); err != nil {
			t.Fatal(err)
		}
	}
	s.Close(t.Context())
	if got := joined(state); got != want {
		t.Errorf("with snapshots %q, without %q", got, want)
	}
}

// TestSnapshotElsewhere: a snapshot goes on in a Runtime that another process would have
// opened, under the time that was left; a Runtime of other files refuses it.
func TestSnapshotElsewhere(t *testing.T) {
	r := open(t)
	other := openWith(t, Options{StepTime: 2 * time.Second})
	changed := openWith(t, Options{Files: Files{r.files.Engine, append([]byte("/* of another weir */ "), r.files.Prelude...)}})
	s, state, err := r.Start(t.Context(), "\nconst all = await Promise.all([tools.echo({i: 1}), tools.echo({i: 2})]);\nthrow new Error(all.map(String).join())", Setting{Tools: []string{"echo"}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(context.WithoutCancel(t.Context()))
	snapshot, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if RuntimeOf(snapshot) != other.Digest() || other.Digest() == changed.Digest() || RuntimeOf(snapshot[:40]) != "" {
		t.Errorf("it is of %s, not of %s", RuntimeOf(snapshot), other.Digest())
	}
	if _, err := changed.Resume(t.Context(), snapshot); !errors.Is(err, ErrSnapshot) {
		t.Errorf("another engine takes it: %v", err)
	}
	resumed, err := other.Resume(t.Context(), snapshot)
	if err != nil {
		t.Fatal(err)
	}
	defer resumed.Close(context.WithoutCancel(t.Context()))
	if resumed.left != s.left || resumed.left >= r.options.Time {
		t.Errorf("of its time is left %s, before %s", resumed.left, s.left)
	}
	state, err = resumed.Step(t.Context(), []Answer{tools(state.Wants[0]), tools(state.Wants[1])})
	if f := state.Fault; err != nil || f == nil || f.Line != 3 || f.Message != `Error: {"i":1},{"i":2}` {
		t.Errorf("%+v %v", f, err)
	}
}

// TestRandomNumbers: scripts start with the same state and have different random numbers.
func TestRandomNumbers(t *testing.T) {
	seen := map[string]bool{}
	for range 20 {
		got, _ := play(t, "const a = Array.from({length: 1000}, Math.random); return a.every((x) => x >= 0 && x < 1) && new Set(a).size === 1000 && a[999]", tools)
		seen[got] = true
	}
	if len(seen) != 20 || seen["false"] {
		t.Errorf("%v", seen)
	}
}

func TestChangedSnapshot(t *testing.T) {
	r := open(t)
	s, _, err := r.Start(t.Context(), "await tools.echo({})", Setting{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(t.Context())
	snapshot, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	for i := range 64 {
		changed := append([]byte(nil), snapshot...)
		changed[i*len(changed)/64] ^= 1
		if _, err := r.Resume(t.Context(), changed); !errors.Is(err, ErrSnapshot) {
			t.Fatalf("byte %d of %d changed: %v", i*len(changed)/64, len(changed), err)
		}
		if _, err := r.Resume(t.Context(), snapshot[:i*len(snapshot)/64]); !errors.Is(err, ErrSnapshot) {
			t.Fatalf("cut to %d: %v", i*len(snapshot)/64, err)
		}
	}
}

// BenchmarkStart starts scripts that end at once, as they come: with time between them. It
// reports the median.
func BenchmarkStart(b *testing.B) {
	r := open(b)
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		s, state, err := r.Start(b.Context(), "return 1", Setting{})
		took = append(took, time.Since(began))
		if err != nil || !state.Done {
			b.Fatal(err)
		}
		s.Close(b.Context())
	}
	median(b, took)
}

func BenchmarkPauseAndResume(b *testing.B) {
	r := open(b)
	s, state, err := r.Start(b.Context(), "for (;;) await tools.echo({})", Setting{})
	if err != nil {
		b.Fatal(err)
	}
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		snapshot, err := s.Snapshot()
		if err != nil {
			b.Fatal(err)
		}
		s.Close(b.Context())
		if s, err = r.Resume(b.Context(), snapshot); err != nil {
			b.Fatal(err)
		}
		if state, err = s.Step(b.Context(), []Answer{tools(state.Wants[0])}); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	median(b, took)
}

func median(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
}

func TestCheck(t *testing.T) {
	r := open(t)
	if f, err := r.Check(t.Context(), "for (;;) await tools.a(); return 1"); f != nil || err != nil {
		t.Error(f, err)
	}
	if f, err := r.Check(t.Context(), "\nreturn )"); err != nil || f == nil || f.Line != 2 {
		t.Error(f, err)
	}
}

// TestHandover: a script that has replaced what is built in hands over no more than the
// host holds: short texts that name millions of requests would take gigabytes as values.
func TestHandover(t *testing.T) {
	r := openWith(t, Options{StepTime: time.Minute, Time: time.Minute})
	// forged is a script whose state has many values in a list.
	forged := func(list, many string) string {
		return `const many = ` + many + `; Array.prototype.join = () => '],"state":{"done":true,"` + list + `":[' + many + ']},"wants":['; tools.echo({}); await new Promise(() => {})`
	}
	for name, source := range map[string]string{
		"requests":         "const many = '{},'.repeat(2e5) + '{}'; Array.prototype.join = () => many; tools.echo({}); await new Promise(() => {})",
		"a request's name": "try { await tools['n'.repeat(1e5)]({}) } catch {}",
		"a question":       "await tools.find('word '.repeat(1e4))",
		"parts":            forged("output", `'0,'.repeat(5e5) + '0'`),
		"long parts":       forged("output", `('"' + 'x'.repeat(1e6) + '",').repeat(12) + '0'`),
		"lines":            forged("logged", `'"",'.repeat(2e4) + '""'`),
		"long lines":       forged("logged", `('"' + 'x'.repeat(1e5) + '",').repeat(99) + '""'`),
		"names":            forged("idle", `('"' + 'n'.repeat(1e4) + '",').repeat(2000) + '""'`),
		"reasons":          forged("rejected", `'"",'.repeat(2e4) + '""'`),
		"a long fault":     "throw new Error('x'.repeat(1e6))",
	} {
		s, state, err := r.Start(t.Context(), source, Setting{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		s.Close(t.Context())
		if n := len(state.Wants); n > mostWants {
			t.Errorf("%s: %d requests", name, n)
		}
		if state.Wants == nil && !state.Done {
			t.Errorf("%s: nothing came", name)
		}
		logged, output := len(strings.Join(state.Logged, "")), 0
		for _, p := range state.Output {
			output += len(p)
		}
		if len(state.Output) > mostParts || output > mostOutput+2e6 || len(state.Logged) > mostLines || logged > mostMessage+2e5 || len(state.Idle) > mostNames || len(state.Rejected) > mostRejected {
			t.Errorf("%s: %d parts with %d bytes, %d lines with %d, %d names, %d reasons", name, len(state.Output), output, len(state.Logged), logged, len(state.Idle), len(state.Rejected))
		}
		if slices.ContainsFunc(state.Idle, func(n string) bool { return len(n) > mostName }) || state.Fault != nil && len(state.Fault.Message) > mostMessage {
			t.Errorf("%s: a long name, or a fault of %d bytes", name, len(state.Fault.Message))
		}
		for _, w := range state.Wants {
			if len(w.Tool) > mostName || len(w.Query) > mostQuery {
				t.Errorf("%s: a tool's name of %d bytes, a question of %d", name, len(w.Tool), len(w.Query))
			}
		}
	}
}

// TestRejectedBeforeASnapshot: a script that was stored meanwhile still says which errors
// nothing awaited.
func TestRejectedBeforeASnapshot(t *testing.T) {
	r := open(t)
	s, state, err := r.Start(t.Context(), "const late = Promise.reject(new Error('seen')); Promise.reject(new Error('lost')); await tools.echo({}); try { await late } catch {}", Setting{Tools: []string{"echo"}})
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := s.Snapshot()
	if err := errors.Join(err, s.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	if s, err = r.Resume(t.Context(), snapshot); err != nil {
		t.Fatal(err)
	}
	defer s.Close(t.Context())
	state, err = s.Step(t.Context(), []Answer{tools(state.Wants[0])})
	if err != nil || !state.Done || !slices.Equal(state.Rejected, []string{"Error: lost"}) {
		t.Errorf("%+v %v", state, err)
	}
}

// TestNothingOfTheRehearsal: what has run before the image was taken is not to be seen.
func TestNothingOfTheRehearsal(t *testing.T) {
	r := open(t)
	s, state, err := r.Start(t.Context(), `await tools.echo({}); return [ALL_TOOLS.length, Object.keys(args).length, typeof r]`, Setting{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(t.Context())
	if state.Done || len(state.Wants) != 1 || state.Wants[0].ID != 1 || len(state.Logged) > 0 {
		t.Fatalf("%+v", state)
	}
	state, err = s.Step(t.Context(), []Answer{tools(state.Wants[0])})
	if err != nil || !state.Done || len(state.Output) != 1 || strings.Join(strings.Fields(string(state.Output[0])), "") != `"[\n0,\n0,\n\"undefined\"\n]"` {
		t.Errorf("%v %+v %+v", err, state, state.Fault)
	}
}
