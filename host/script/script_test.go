package script

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/internal/scriptproc"
	"github.com/weirhost/weir/host/internal/scriptvm"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// source has the tools of the tests: echo returns its text, long returns n lines, and
// fails fails. cites returns its text with n sources.
const source = `
export const echo = (args) => args.text;
export const long = (args) => Array.from({length: args.n}, (_, i) => "line " + (i + 1) + (i === 7777 ? " NEEDLE" : "")).join("\n");
export const fails = (args, c) => { throw c.fail("denied", "Ask somebody else.", "Not today.") };
export const large = () => "0123456789abcde\n".repeat(480000);
export const cites = ({ text, n }) => ({ text, sources: Array.from({length: n}, (_, i) => ({ title: "T", url: "https://example.com/" + text + i })) });
export const count = (args) => String(args.text.length);
`

const manifest = `schema = 1
name = "kit"
script = "main.js"
[limits]
memory = "256MiB"
%s`

const oneTool = `
[[tool]]
name = %q
description = "d"
[tool.params]
type = "object"
[tool.params.properties.text]
type = "string"
maxLength = 8000000
[tool.params.properties.n]
type = "integer"
`

// A bench is a host with the kit, and a runner.
type bench struct {
	host    *host.Host
	runner  *Runner
	session *host.Session
}

func newBench(t testing.TB) *bench {
	t.Helper()
	return benchWith(t, func(*host.Config) {})
}

// benchWith is newBench over a host that edit has configured.
func benchWith(t testing.TB, edit func(*host.Config)) *bench {
	t.Helper()
	dir := t.TempDir()
	var tools string
	for _, name := range []string{"echo", "long", "large", "fails", "cites", "count"} {
		tools += fmt.Sprintf(oneTool, name)
	}
	for name, text := range map[string]string{"plugin.toml": fmt.Sprintf(manifest, tools), "main.js": source} {
		to := filepath.Join(dir, "plugins", "kit", name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cfg := host.Config{CacheDir: guesttest.Cache(t), Settings: host.Settings{
		Folders: []plugin.Folder{{Path: filepath.Join(dir, "plugins"), Trust: plugin.TrustGranted}},
	}}
	edit(&cfg)
	h, err := host.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	engine, err := scriptproc.Open(t.Context(), scriptproc.Options{VM: scriptvm.Options{CacheDir: guesttest.Cache(t), StepTime: time.Minute, Time: time.Minute}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close(t.Context()) })
	return &bench{h, New(engine, h.Archive(), Options{}), h.Session("me", "conversation-1").KeepingAll()}
}

func (b *bench) run(t testing.TB, code string) Outcome {
	t.Helper()
	out, err := b.runner.Run(t.Context(), b.session, Script{
		Source: code, Tools: b.session.Tools(), Scope: archive.Scope{Principal: "me", Conversation: "conversation-1"}, CallID: "call_1", Noted: true,
	})
	if err != nil {
		t.Fatalf("%s: %v", code, err)
	}
	return out
}

func TestRun(t *testing.T) {
	b := newBench(t)
	for _, tt := range []struct{ name, code, want string }{
		{"no call", "return 6 * 7", "42"},
		{"a call", "return 'got ' + await tools.echo({text: 'hi'})", "got hi"},
		{"twenty calls at once", "const all = await Promise.all(Array.from({length: 20}, (_, i) => tools.echo({text: String(i)}))); return all.map(String).join()", "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19"},
		{"a whole that no limit cuts", "const r = await tools.long({n: 10000}); return (await r.text()).split('\\n').length", "10000"},
		{"short results as texts", "const r = await tools.echo({text: 'a b'}); return [r.split(' ').length, r.includes('b'), r.length, r.toUpperCase(), JSON.stringify({r})].join('|')", "2|true|3|A B|{\"r\":\"a b\"}"},
		{"short results in an answer", "return {a: await tools.echo({text: 'a b'}), all: [await tools.echo({text: 'c'})]}", "{\n \"a\": \"a b\",\n \"all\": [\n  \"c\"\n ]\n}"},
		{"a part by an expression", "const r = await tools.long({n: 10000}); return r.part({grep: /needle/i})", "7778:line 7778 NEEDLE\n"},
		{"no tool found", "return (await tools.find('zzz qqq')).length", "0"},
		{"a part", "const r = await tools.long({n: 10000}); return r.part({grep: 'NEEDLE'})", "7778:line 7778 NEEDLE\n"},
		{"a part by lines", "const r = await tools.long({n: 10000}); return r.part({lines: '3-4'})", "line 3\nline 4\n"},
		{"a whole from tool to tool", "const r = await tools.long({n: 10000}); return String(await tools.count({text: r}))", "98900"},
		{"a short one from tool to tool", "const r = await tools.echo({text: 'abc'}); return String(await tools.count({text: r}))", "3"},
		{"a failure", "try { await tools.fails({}) } catch (e) { return e.code + ' ' + e.message }", "denied Not today. (Ask somebody else.)"},
		{"wrong arguments", "try { await tools.echo({text: 1}) } catch (e) { return e.code }", "bad_args"},
		{"no such tool", "try { await tools.nope({}) } catch (e) { return e.message }", "there is no tool \"nope\" (ALL_TOOLS has the names)"},
		{"itself", "try { await tools.run_script({code: ''}) } catch (e) { return e.code }", "unknown_tool"},
		{"types", "interface P { n: number }\nconst p: P = { n: 2 } as P;\nconst r = await tools.long(p);\nreturn (r.lines as number) + 1", "3"},
		{"a call that is awaited later", "const p = tools.echo({text: 'a'}); const q = await tools.echo({text: 'b'}); return `${await p}${q}`", "ab"},
		{"then", "return tools.echo({text: 'a'}).then((r) => r.chars)", "1"},
		{"a description", "return (await tools.describe('echo')).name", "echo"},
	} {
		if out := b.run(t, tt.code); out.Result.Err != nil || out.Result.Shown.Text != tt.want {
			t.Errorf("%s: %q %v, wanted %q", tt.name, out.Result.Shown.Text, out.Result.Err, tt.want)
		}
	}
}

// TestSources: the answer of a script has the sources of the results that it was made from, at
// most 100.
func TestSources(t *testing.T) {
	b := newBench(t)
	out := b.run(t, "await tools.fails({}).catch(() => 0); return await tools.cites({text: 'a', n: 2}) + await tools.cites({text: 'b', n: 1})")
	var urls []string
	for _, s := range out.Result.Sources {
		urls = append(urls, s.URL)
	}
	if got := strings.Join(urls, " "); got != "https://example.com/a0 https://example.com/a1 https://example.com/b0" {
		t.Errorf("%v: %s", out.Result.Err, got)
	}
	out = b.run(t, "for (let i = 0; i < 3; i++) await tools.cites({text: String(i), n: 60}); return 1")
	if n := len(out.Result.Sources); n != 100 {
		t.Errorf("%d sources", n)
	}
}

// TestOneCut: only what a script returns is cut, and every whole can be read afterwards.
func TestOneCut(t *testing.T) {
	b := newBench(t)
	out := b.run(t, "const all = await Promise.all([1, 2, 3].map(() => tools.long({n: 10000}))); for (const r of all) text(r)")
	r := out.Result
	if r.Err != nil || !r.Shown.Cut() || r.Ref == nil || r.Shown.TotalLines != 30_000 || len(out.Calls) != 3 {
		t.Fatalf("%+v %v", r, out.Calls)
	}
	scope := archive.Scope{Principal: "me", Conversation: "conversation-1"}
	e, err := b.host.Archive().Get(t.Context(), scope, r.Ref.UUID)
	if err != nil || strings.Count(e.Full, "NEEDLE") != 3 || !strings.Contains(string(e.Input), "Promise.all") {
		t.Errorf("of the script is kept: %v, %s", err, e.Input)
	}
	if told := limit.Render(r, tool.En); len(r.Inner) != 3 || strings.Count(told, "uuid") == 0 {
		t.Errorf("%d inner calls; the model reads %s", len(r.Inner), told)
	}
	for _, c := range out.Calls {
		if told := limit.Render(r, tool.En); !strings.Contains(told, c.UUID) || !strings.Contains(string(e.Input), c.UUID) {
			t.Errorf("the uuid of %+v is not in %s, or not in %s", c, told, e.Input)
		}
		if e, err := b.host.Archive().Get(t.Context(), scope, c.UUID); err != nil || strings.Count(e.Full, "\n") != 9999 {
			t.Errorf("of %+v is kept: %v", c, err)
		}
	}
}

// TestShortAnswer: a short answer and short results of its calls are in the archive too, and
// reading what the script did needs no other entry.
func TestShortAnswer(t *testing.T) {
	b := newBench(t)
	r := b.run(t, "console.log('so far'); try { await tools.fails({}) } catch {}; return 'got ' + await tools.echo({text: 'hi'})").Result
	if r.Err != nil || r.Ref == nil || len(r.Inner) != 2 || r.Inner[0].Fault != tool.Denied || r.Inner[1].UUID == "" {
		t.Fatalf("%+v", r)
	}
	scope := archive.Scope{Principal: "me", Conversation: "conversation-1"}
	if e, err := b.host.Archive().Get(t.Context(), scope, r.Inner[1].UUID); err != nil || e.Full != "hi" {
		t.Errorf("of the call: %q %v", e.Full, err)
	}
	if told := limit.Render(r, tool.Zh); !strings.Contains(told, "so far") || !strings.Contains(told, r.Inner[1].UUID) || !strings.HasSuffix(strings.TrimSpace(told), "got hi") {
		t.Errorf("the model reads %q", told)
	}
}

// TestAnswerOfAPerson: a script without notes gives its answer alone, also when an equal one
// is in the archive, as it may go on into another program.
func TestAnswerOfAPerson(t *testing.T) {
	b := newBench(t)
	for range 2 {
		out, err := b.runner.Run(t.Context(), b.session, Script{
			Source: "return {a: 1, b: \"a longer value\"}", Tools: b.session.Tools(), Scope: archive.Scope{Principal: "me", Conversation: "conversation-1"}, CallID: "call_1",
		})
		if told := limit.Render(out.Result, tool.En); err != nil || !strings.HasPrefix(told, "{") {
			t.Errorf("%q %v", told, err)
		}
	}
}

// TestCallsThatNobodyAwaits: they end with the script, and the model reads so, whatever else
// the script has logged.
func TestCallsThatNobodyAwaits(t *testing.T) {
	b := newBench(t)
	chatter := "for (let i = 0; i < 3000; i++) console.log('chatter '.repeat(5));"
	for code, calls := range map[string]int{
		"for (let i = 0; i < 50; i++) tools.long({n: 100000}); return 'done'":                                                   50,
		chatter + "[1, 2, 3].forEach(async (n) => { await tools.long({n}) }); return 'done'":                                    3,
		chatter + "[1, 2].forEach(async () => { await tools.slow({}) }); await tools.echo({text: 'x'}); return 'done'":          2,
		chatter + "tools.slow({}); await tools.echo({text: 'x'}); return 'done'":                                                1,
		"const late = tools.slow({}); await tools.echo({text: 'x'}); throw new Error('no')":                                     1,
		"await tools.echo({text: 'x'}); tools.echo({text: 'y'}); await tools.echo({text: 'z'}); return tools.echo({text: 'x'})": 1,
	} {
		out, err := b.runner.Run(t.Context(), slow{b.session}, Script{
			Source: code, Tools: append(b.session.Tools(), tool.Spec{Name: "slow"}), Scope: archive.Scope{Principal: "me", Conversation: "conversation-1"}, CallID: "call_1", Noted: true,
		})
		told := limit.Render(out.Result, tool.En)
		if err != nil || !strings.Contains(told, fmt.Sprintf("did not await %d calls", calls)) || !strings.Contains(strings.Join(out.Logged, "\n"), "did not await") {
			t.Errorf("%s: %v %q", code, err, told)
		}
		for _, c := range out.Calls {
			if c.Tool == "slow" && c.Fault != tool.Cancelled {
				t.Errorf("%s: %+v", code, out.Calls)
			}
		}
	}
}

// slow is a Session whose tool slow runs until it is cancelled.
type slow struct{ Session }

func (s slow) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	if c.Tool == "slow" {
		<-ctx.Done()
		return tool.Result{}, ctx.Err()
	}
	return s.Session.Call(ctx, c)
}

// TestErrorsThatNobodySees: a script that ends well says which of its promises were
// rejected unseen, and not those that it saw after all.
func TestErrorsThatNobodySees(t *testing.T) {
	b := newBench(t)
	out := b.run(t, "async function f() { await null; throw new Error('unseen') }\nf();\nconst late = Promise.reject(new Error('seen')); await tools.echo({text: 'x'}); try { await late } catch {}\nreturn 'done'")
	if out.Result.Err != nil || len(out.Logged) != 1 || !strings.Contains(out.Logged[0], "nothing awaited it") || !strings.Contains(out.Logged[0], "unseen") {
		t.Errorf("%v, %q", out.Result.Err, out.Logged)
	}
	if out := b.run(t, "async function f() { exit() }\nf(); return 'done'"); out.Result.Err != nil || len(out.Logged) != 0 {
		t.Errorf("%v, %q", out.Result.Err, out.Logged)
	}
}

// TestFloods: what a script asks for, logs and returns has bounds over the whole run.
func TestFloods(t *testing.T) {
	b := newBench(t)
	for name, code := range map[string]string{
		"one after the other": "const r = await tools.long({n: 3000}); for (;;) await r.part({lines: '1-1'})",
		"all at once":         "for (let i = 0; i < 2010; i++) tools.echo({text: 'x'}); await new Promise(() => {})",
	} {
		if out := b.run(t, code); out.Result.Err == nil || out.Result.Err.Code != tool.TooLarge || len(out.Calls) > maxRequests {
			t.Errorf("%s: %v, %d calls", name, out.Result.Err, len(out.Calls))
		}
	}
	out := b.run(t, "for (let i = 0; i < 50; i++) { console.log('x'.repeat(5000)); await tools.echo({text: 'x'}) } return 1")
	if size := len(strings.Join(out.Logged, "")); out.Result.Err != nil || size == 0 || size > maxLogged {
		t.Errorf("%v, %d bytes are logged", out.Result.Err, size)
	}
	read := &counting{Archive: b.runner.archive}
	b.runner.archive = read
	out = b.run(t, "const r = await tools.long({n: 100000}); for (let i = 0; i < 100; i++) text(r)")
	if r := out.Result; r.Err != nil || !r.Incomplete || read.wholes > 10 {
		t.Errorf("for an answer of 100 MB it reads %d wholes of 1 MB, %v", read.wholes, r.Err)
	}
}

// counting counts the wholes that are read.
type counting struct {
	Archive
	wholes int
}

func (c *counting) Get(ctx context.Context, sc archive.Scope, uuid string) (archive.Entry, error) {
	c.wholes++
	return c.Archive.Get(ctx, sc, uuid)
}

func TestFailures(t *testing.T) {
	b := newBench(t)
	b.runner.options.Calls = 5
	for _, tt := range []struct {
		name, code string
		want       tool.Code
		says       string
	}{
		{"it throws", "\nthrow new Error('no')", tool.Failed, "correct line 2, column 11"},
		{"syntax", "return (", tool.Failed, "SyntaxError"},
		{"types, and it throws", "type A = number;\n\nconst a: A = 1;\nthrow new Error(`no ${a}`)", tool.Failed, "of the script: throw new Error(`no ${a}`)"},
		{"syntax of types", "const a: number = 1;\nconst b: = 2", tool.Failed, "correct line 2, column 10"},
		{"no await, a method", "const r = tools.long({n: 3});\nreturn r.text()", tool.Failed, "await is missing: write await tools.long(…)"},
		{"no await, a method of texts", "return tools.echo({text: ' x '}).trim()", tool.Failed, "await is missing: write await tools.echo(…)"},
		{"no await, a method of lists", "return tools.echo({text: '[1]'}).filter((n) => n)", tool.Failed, "await is missing"},
		{"no await, an argument", "return tools.count({text: tools.echo({text: 'x'})})", tool.Failed, "await is missing: write await tools.echo(…)"},
		{"no await, a text", "return `${tools.echo({text: 'x'})}`", tool.Failed, "await is missing"},
		{"no await, a list", "return [tools.echo({text: 'x'})]", tool.Failed, "await is missing"},
		{"no await, a loop", "for (const l of tools.long({n: 3})) text(l)", tool.Failed, "await is missing"},
		{"without tools", "\nconst r = await long({n: 3})", tool.Failed, "write await tools.long({…})"},
		{"a near name", "await tools.ecoh({text: 'x'})", tool.Failed, "did you mean one of these: echo"},
		{"imports", "import fs from 'fs'\nreturn 1", tool.Failed, "a script has no imports"},
		{"a member of JSON", "const r = await tools.echo({text: '{\"items\": []}'}); return r.items.length", tool.Failed, "the JSON of a result is await r.json()"},
		{"a list", "const r = await tools.echo({text: '[1]'}); return r.map((n) => n)", tool.Failed, "is a text, not a list; write await r.json()"},
		{"a loop over a result", "for (const line of await tools.echo({text: 'a'})) text(line)", tool.Failed, "is a text, not a list"},
		{"a method on a long one", "const r = await tools.long({n: 3000}); return r.split('\\n').length", tool.Failed, "write await r.text()"},
		{"a long one as JSON", "const r = await tools.long({n: 3000}); return JSON.stringify({r})", tool.Failed, "write await r.text()"},
		{"the length of a long one", "const r = await tools.long({n: 3000}); return r.length", tool.Failed, "write await r.text()"},
		{"a part of a text", "const r = await tools.long({n: 3}); return r.part('1-2')", tool.Failed, "write r.part({lines: \"10-20\"})"},
		{"exports", "export default async function main() { return 1 }", tool.Failed, "a script exports nothing"},
		{"an end that is missing", "const a = [1,\n2", tool.Failed, "SyntaxError: the script ends too early"},
		{"another host", "return await fetch('https://example.com')", tool.Failed, "a script has no imports, files or network"},
		{"an error of a tool", "await tools.fails({})", tool.Failed, "Not today."},
		{"it waits for nothing", "await new Promise(() => {})", tool.Failed, "nothing settles"},
		{"too many calls", "for (let i = 0; i < 10; i++) await tools.echo({text: 'x'})", tool.Failed, "a script may make 5 calls"},
		{"too long", strings.Repeat("//", scriptvm.MaxSource), tool.TooLarge, "longer than"},
	} {
		out := b.run(t, tt.code)
		if f := out.Result.Err; f == nil || f.Code != tt.want || !strings.Contains(f.Error(), tt.says) {
			t.Errorf("%s: %v, wanted %s %q", tt.name, f, tt.want, tt.says)
		}
	}
}

// TestOthersResults: a script reads what its session may read, and nothing else.
func TestOthersResults(t *testing.T) {
	b := newBench(t)
	r, err := b.host.Session("other", "theirs").Call(t.Context(), tool.Call{Tool: "long", Args: json.RawMessage(`{"n": 10000}`)})
	if err != nil || r.Ref == nil {
		t.Fatal(r.Err, err)
	}
	out := b.run(t, fmt.Sprintf("return String(await tools.count({text: '@result:%s'}))", r.Ref.UUID))
	if out.Result.Err == nil || strings.Contains(out.Result.Err.Error(), "98900") {
		t.Errorf("it reads the result of somebody else: %+v", out.Result)
	}
}

// TestEmptyAnswer: a model that forgets return reads so, a person who runs an effect does not.
func TestEmptyAnswer(t *testing.T) {
	b := newBench(t)
	for code, empty := range map[string]bool{"function main() { return 1 }\nmain()": true, "let a = 1": true, "return ''": false, "text('')": false, "return null": false} {
		out := b.run(t, code)
		if told := limit.Render(out.Result, tool.En); strings.Contains(told, "the script returned nothing") != empty {
			t.Errorf("%s: %q", code, told)
		}
	}
}

// TestSearchesCount: to search results takes the time of the script, also while the host does
// it: an expression over 8 MiB takes seconds, and a script may ask for 2,000.
func TestSearchesCount(t *testing.T) {
	b := newBench(t)
	engine, err := scriptproc.Open(t.Context(), scriptproc.Options{VM: scriptvm.Options{CacheDir: guesttest.Cache(t), Time: time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close(context.WithoutCancel(t.Context()))
	b.runner = New(engine, late{b.host.Archive()}, Options{})
	out := b.run(t, "const r = await tools.long({n: 3000}); for (let i = 0; i < 100; i++) await r.part({grep: 'NEEDLE'})")
	if f := out.Result.Err; f == nil || f.Code != tool.TimedOut {
		t.Errorf("%v", f)
	}
}

// late takes time for each part.
type late struct{ Archive }

func (l late) Peek(ctx context.Context, sc archive.Scope, uuid string, p archive.Part) (archive.Page, error) {
	time.Sleep(50 * time.Millisecond)
	return l.Archive.Peek(ctx, sc, uuid, p)
}
