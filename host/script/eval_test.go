package script

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/internal/scriptproc"
	"github.com/weirhost/weir/host/internal/scriptvm"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// TestEvalLargeValue: a value of 8 MB goes through three tools. Nothing of it is in the
// answer, and the script, whose whole memory is 8 MiB, never holds it.
func TestEvalLargeValue(t *testing.T) {
	b := newBench(t)
	engine, err := scriptproc.Open(t.Context(), scriptproc.Options{VM: scriptvm.Options{CacheDir: guesttest.Cache(t), Memory: 8 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close(context.Background()) })
	b.runner = New(engine, b.host.Archive(), Options{})
	out := b.run(t, "const a = await tools.large({}); const b = await tools.echo({text: a}); const c = await tools.echo({text: b}); return [a.chars, b.chars, c.chars, String(await tools.count({text: c}))].join()")
	r := out.Result
	if r.Err != nil || !strings.HasPrefix(r.Shown.Text, "7") || strings.Contains(limit.Render(r, tool.En), "line 1") {
		t.Fatalf("%v %q", r.Err, r.Shown.Text)
	}
	sizes := strings.Split(r.Shown.Text, ",")
	if len(sizes) != 4 || sizes[0] != sizes[1] || sizes[1] != sizes[2] || sizes[2] != sizes[3] {
		t.Errorf("sizes: %q", sizes)
	}
	t.Logf("%s characters went through three tools; a script of 8 MiB of memory; 0 of them in the answer", sizes[0])
}

// TestEvalHostileScripts: whatever a script does, it ends, with an error of its own, within
// its bounds, and the next script is not harmed.
func TestEvalHostileScripts(t *testing.T) {
	b := newBench(t)
	engine, err := scriptproc.Open(t.Context(), scriptproc.Options{VM: scriptvm.Options{CacheDir: guesttest.Cache(t), Memory: 32 << 20, StepTime: 2 * time.Second, Time: 4 * time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close(context.Background()) })
	b.runner = New(engine, b.host.Archive(), Options{Calls: 50, Time: 20 * time.Second})
	theirs, err := b.host.Session("other", "theirs").Call(t.Context(), tool.Call{Tool: "long", Args: json.RawMessage(`{"n": 10000}`)})
	if err != nil || theirs.Ref == nil {
		t.Fatal(theirs.Err, err)
	}
	for _, tt := range []struct {
		name, code string
		want       []tool.Code // one of these; none: the answer is safe
	}{
		{"an endless loop", "for (;;) {}", []tool.Code{tool.TimedOut}},
		{"an endless loop after a call", "await tools.echo({text: 'x'}); for (;;) {}", []tool.Code{tool.TimedOut}},
		{"endless jobs", "const f = () => Promise.resolve().then(f); await f()", []tool.Code{tool.TimedOut, tool.OutOfMemory, tool.Failed}},
		{"an expression that backtracks", "return /^(a+)+$/.test('a'.repeat(40) + 'b')", []tool.Code{tool.TimedOut, tool.OutOfMemory}},
		{"a loop that catches", "for (;;) { try { for (;;) {} } catch {} finally { continue } }", []tool.Code{tool.TimedOut}},
		{"memory", "const all = []; for (;;) all.push('x'.repeat(1 << 20) + all.length)", []tool.Code{tool.OutOfMemory, tool.Failed, tool.TimedOut}},
		{"memory of an array", "return new Uint8Array(1 << 30).length", []tool.Code{tool.OutOfMemory, tool.Failed}},
		{"deep recursion", "const f = () => f() + 1; return f()", []tool.Code{tool.Failed, tool.OutOfMemory}},
		{"deep JSON", "let a = []; for (let i = 0; i < 1e6; i++) a = [a]; return a", []tool.Code{tool.Failed, tool.OutOfMemory, tool.TimedOut}},
		{"a flood of promises", "for (let i = 0; i < 1e6; i++) tools.echo({text: 'x'}); await new Promise(() => {})", []tool.Code{tool.TooLarge, tool.OutOfMemory, tool.TimedOut}},
		{"too many calls", "for (;;) await tools.echo({text: 'x'})", []tool.Code{tool.Failed, tool.TooLarge}},
		{"nothing to wait for", "await new Promise(() => {})", []tool.Code{tool.Failed}},
		{"itself", "return await tools.run_script({code: 'return 1'})", []tool.Code{tool.Failed}},
		{"a tool that is not offered", "return await tools.secret({})", []tool.Code{tool.Failed}},
		{"a name of the prototype", "return await tools.constructor({})", []tool.Code{tool.Failed}},
		{"a name of the prototype, as a member", "return await tools['__proto__']({})", []tool.Code{tool.Failed}},
		{"other names", "try { ALL_TOOLS.push('secret') } catch {}\nreturn await tools.secret({})", []tool.Code{tool.Failed}},
		{"another user's result", fmt.Sprintf("return String(await tools.count({text: '@result:%s'}))", theirs.Ref.UUID), []tool.Code{tool.Failed}},
		{"a forged handle", fmt.Sprintf("const r = await tools.echo({text: 'x'}); const forged = Object.create(Object.getPrototypeOf(r)); Object.assign(forged, {uuid: %q, tool: 'long'}); return forged.text()", theirs.Ref.UUID), []tool.Code{tool.Failed}},
		{"a handle from its class", fmt.Sprintf("const r = await tools.echo({text: 'x'}); return new r.constructor({uuid: %q, tool: 'long', chars: 9, lines: 1}).text()", theirs.Ref.UUID), []tool.Code{tool.Failed}},
		{"a part from its class", fmt.Sprintf("const r = await tools.echo({text: 'x'}); return new r.constructor({uuid: %q, tool: 'long', chars: 9, lines: 1}).part({head: 3})", theirs.Ref.UUID), []tool.Code{tool.Failed}},
		{"an answer from its class", fmt.Sprintf("const r = await tools.echo({text: 'x'}); return new r.constructor({uuid: %q, tool: 'long', chars: 9, lines: 1})", theirs.Ref.UUID), []tool.Code{tool.Failed}},
		{"the globals", "globalThis.tools = { echo: () => 'forged' }; return String(await tools.echo({text: 'real'}))", nil},
		{"what is built in", "JSON.stringify = () => 'forged'; Promise.prototype.then = () => {}; Object.freeze = (x) => x; Map.prototype.get = () => 1; return String(await tools.echo({text: 'real'}))", nil},
		{"the prototype of objects", "Object.prototype.toJSON = () => 'forged'; Object.prototype.result = 'x'; Array.prototype.map = () => []; return String(await tools.echo({text: 'real'}))", nil},
		{"an answer that says it is a result", fmt.Sprintf("return {result: %q}", theirs.Ref.UUID), nil},
		{"eval", "return (0, eval)('typeof require + typeof process + typeof fetch')", nil},
		{"constructors", "return [].constructor.constructor('return typeof std + typeof os')()", nil},
	} {
		r := b.run(t, tt.code).Result
		said := limit.Render(r, tool.En)
		if strings.Contains(said, "line 2\nline 3") || strings.Contains(said, "NEEDLE") || strings.Contains(said, "98900") {
			t.Errorf("%s reads another user's result: %.300s", tt.name, said)
		}
		ok := r.Err == nil && tt.want == nil
		for _, code := range tt.want {
			ok = ok || r.Err != nil && r.Err.Code == code
		}
		if !ok && !(tt.want == nil && r.Err != nil && (r.Err.Code == tool.Failed || r.Err.Code == tool.OutOfMemory)) {
			t.Errorf("%s: %v %.200q", tt.name, r.Err, r.Shown.Text)
		}
		if r.Err == nil && strings.Contains(r.Shown.Text, "forged") {
			t.Errorf("%s: %q", tt.name, r.Shown.Text)
		}
		if next := b.run(t, "return String(await tools.echo({text: 'fine'}))").Result; next.Shown.Text != "fine" {
			t.Fatalf("after %s: %v %q", tt.name, next.Err, next.Shown.Text)
		}
	}
}

// TestEvalEngines: the same script has the same answer where tools run in this process, in
// workers, and in Extism's SDK.
func TestEvalEngines(t *testing.T) {
	worker, err := guesttest.Worker("../..")
	if err != nil {
		t.Fatal(err)
	}
	const code = "const all = await Promise.all([10, 200, 3000].map((n) => tools.long({n}))); const joined = await tools.echo({text: all[2]}); let failed = ''; try { await tools.fails({}) } catch (e) { failed = e.code + e.message } return [...all.map((r) => r.chars), (await joined.part({lines: '2999-3000'})), failed, String(await tools.count({text: joined}))].join('|')"
	answers := map[string]string{}
	for name, edit := range map[string]func(*host.Config){
		"in this process": func(*host.Config) {},
		"a worker":        func(c *host.Config) { c.WorkerCommand = worker },
		"extism":          func(c *host.Config) { c.Sandbox.Engine = host.EngineExtism },
	} {
		r := benchWith(t, edit).run(t, code).Result
		if r.Err != nil {
			t.Fatalf("%s: %v", name, r.Err)
		}
		answers[r.Shown.Text] += name + ", "
	}
	if len(answers) != 1 {
		t.Errorf("%q", answers)
	}
}

// TestEvalEveryFactIsLoaded: one call loads each fact of twenty results of 50,000
// characters, of which the answer has none.
func TestEvalEveryFactIsLoaded(t *testing.T) {
	b := newBench(t)
	out := b.run(t, "const all = []; for (let i = 0; i < 20; i++) all.push(await tools.long({n: 5000 + i})); return all.map((r) => r.lines).join('\\n')")
	if out.Result.Err != nil || len(out.Calls) != 20 {
		t.Fatal(out.Result.Err)
	}
	told := limit.Render(out.Result, tool.En)
	for i, c := range out.Calls {
		fact := fmt.Sprintf("line %d", 4000+i)
		if !strings.Contains(told, c.UUID) || strings.Contains(told, fact) {
			t.Fatalf("the model reads %q", told)
		}
		args := fmt.Sprintf(`{"uuid": %q, "grep": "^%s$"}`, c.UUID, fact)
		r, err := b.session.Call(t.Context(), tool.Call{Tool: tool.LoadHistory, Args: json.RawMessage(args)})
		if err != nil || r.Err != nil || !strings.Contains(r.Shown.Text, fact) {
			t.Errorf("%s of %s: %v %v %q", fact, c.UUID, err, r.Err, r.Shown.Text)
		}
	}
	if _, err := b.host.Archive().Get(t.Context(), archive.Scope{Principal: "me", Conversation: "conversation-1"}, out.Result.Ref.UUID); err != nil {
		t.Error(err)
	}
}

// BenchmarkTwentyCalls measures what a script adds to twenty calls of a short tool.
func BenchmarkTwentyCalls(b *testing.B) {
	bench := newBench(b)
	runtime.GC()
	for b.Loop() {
		bench.run(b, "const all = await Promise.all(Array.from({length: 20}, (_, i) => tools.echo({text: 'x' + i}))); return all.length")
	}
}
