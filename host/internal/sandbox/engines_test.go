package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
	"pgregory.net/rapid"

	"github.com/weirhost/weir/host/internal/egress"
	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/internal/jail"
	"github.com/weirhost/weir/host/internal/jsonscan"
	"github.com/weirhost/weir/host/internal/msg"
	w "github.com/weirhost/weir/host/internal/wasmtest"
	"github.com/weirhost/weir/internal/testsize"
	"github.com/weirhost/weir/sdk/tool"
)

// seen is everything that a caller can observe of a call, except times.
type seen struct {
	Text     string
	Fail     string
	Progress []string
	Log      string
	Relist   bool
}

// A pair is the same plugin on both engines.
type pair struct {
	modules [2]*Module
	books   [2]*guesttest.LogBook
}

// engines are those of a pair, the reference first.
var engines = [2]string{EngineExtism, EngineWazero}

func newPair(t testing.TB, p Plugin) *pair {
	t.Helper()
	pr := &pair{}
	for i, name := range engines {
		// Crashes are described at Debug with the engine's own stack, which differs.
		pr.books[i] = &guesttest.LogBook{Level: hclog.Info}
		pr.modules[i] = load(t, newEngine(t, Config{Engine: name, Logger: pr.books[i].Logger()}), p)
	}
	return pr
}

// call makes the same call twice on each engine: the second one sees what the first
// one left.
func (p *pair) call(inv Invocation) (got [2][2]seen) {
	for i := range engines {
		for try := range 2 {
			s := &got[i][try]
			inv.Progress = func(done, total int, text string) {
				s.Progress = append(s.Progress, fmt.Sprintf("%d/%d %s", done, total, text))
			}
			p.books[i].Reset()
			out, fail := p.modules[i].Call(context.Background(), inv)
			s.Text, s.Fail, s.Log, s.Relist = textOf(out), bothLanguages(fail), p.books[i].String(), out.Relist
			if fail != nil && fail.Code == tool.TimedOut {
				s.Progress = nil // how far it came is the machine's matter
			}
		}
	}
	return got
}

// textOf returns an output. A text alone comes as it is by the mailbox, and in JSON by
// Extism's functions.
func textOf(out Output) string {
	quoted, ok := bytes.CutPrefix(out.Bytes, []byte(`{"content":[{"type":"text","text":`))
	if quoted, more := bytes.CutSuffix(quoted, []byte(`}],"isError":false}`)); ok && more {
		if text, ok := jsonscan.Text(quoted); ok {
			return text
		}
	}
	return string(out.Bytes)
}

// bothLanguages returns a failure as it is shown in English and in Chinese.
func bothLanguages(fail *tool.Error) string {
	if fail == nil {
		return ""
	}
	return fail.Error() + "\n" + msg.ToolError(tool.Zh, fail).Error()
}

// same returns how the observations differ; empty: they do not.
func same(got [2][2]seen) string {
	if diff := cmp.Diff(got[0][0], got[1][0]); diff != "" {
		return "the engines differ (-extism +wazero):\n" + diff
	}
	for i, name := range engines {
		if diff := cmp.Diff(got[i][0], got[i][1]); diff != "" {
			return name + ": the second call differs:\n" + diff
		}
	}
	return ""
}

// An echoSender answers every request with the request.
type echoSender struct{}

func (echoSender) Do(_ context.Context, r egress.Request) (egress.Response, *tool.Error) {
	if strings.HasSuffix(r.URL, "/refused") {
		return egress.Response{}, tool.Errorf(tool.Denied, "ask for another", "no")
	}
	return egress.Response{Status: http.StatusOK, URL: r.URL, Headers: map[string]string{"X-Len": fmt.Sprint(len(r.Body))}, Body: []byte(r.Method + " " + string(r.Body))}, nil
}

// Both engines give the same results for a Go guest.
func TestEnginesOnAGoGuest(t *testing.T) {
	testsize.Only(t)
	p := newPair(t, Plugin{Name: "guest", Wasm: goGuest})
	granted, _ := folders(t)
	ro := Grant{Mounts: []jail.Mount{{Guest: "/workspace", Host: granted}}}
	web := Grant{HTTP: echoSender{}}
	request := `{"method":"POST","url":"https://example.com/a","headers":{"X-A":"<b>"},"body":"aGVsbG8="}`
	short := 200 * time.Millisecond
	for _, inv := range []Invocation{
		{Export: "echo", Input: []byte(`{"q":"大坝 weir \u0000"}`)},
		{Export: "echo"},
		{Export: "echo", Input: []byte(strings.Repeat("水 flows ", 7_000))},
		{Export: "echo", Input: make([]byte, 300<<10), Timeout: 5 * time.Minute}, // Extism's SDK is asked for each eight bytes of it
		{Export: "echo", Input: make([]byte, maxInput+1)},
		{Export: "echo", Input: make([]byte, 1001), MaxOutput: 1000},
		{Export: "silent", Input: []byte("x")},
		{Export: "spin", Timeout: short},
		{Export: "sleep", Timeout: short},
		{Export: "bigmem"},
		{Export: "panics"},
		{Export: "exit", Input: []byte("0")},
		{Export: "exit", Input: []byte("3")},
		{Export: "refuses", Input: []byte("no such sheet: 第一页\nand more")},
		{Export: "refuses"},
		{Export: "hook"},
		{Export: "seven"},
		{Export: "bigout", Input: []byte("3000"), MaxOutput: 2999},
		{Export: "bigout", Input: []byte("500000"), MaxOutput: 500_000},
		{Export: "claims"},
		{Export: "hugealloc"},
		{Export: "flood"},
		{Export: "spy"},
		{Export: "talk"},
		{Export: "config", Input: []byte("depth"), Grant: Grant{Config: map[string]string{"depth": "3", "other": "4"}}},
		{Export: "config", Input: []byte("depth"), Grant: Grant{Config: map[string]string{"depth": ""}}},
		{Export: "config", Input: []byte("depth")},
		{Export: "config", Input: []byte("weir.max_chars"), Limits: tool.Limits{MaxChars: 5000, MaxLines: 3}},
		{Export: "config", Input: []byte("weir.max_lines"), Limits: tool.Limits{MaxChars: 5000, MaxLines: 3}, Grant: Grant{Config: map[string]string{"weir.max_lines": "9"}}},
		{Export: "http", Input: []byte(request)},
		{Export: "http", Input: []byte(request), Grant: web},
		{Export: "http", Input: []byte(`{"url":"https://example.com/refused"}`), Grant: web},
		{Export: "http", Input: []byte("no json"), Grant: web},
		{Export: "exthttp", Input: []byte(`{"url":"https://example.com/","method":"PUT"}`), Grant: web},
		{Export: "exthttp", Input: []byte(`{"url":"https://example.com/refused"}`), Grant: web},
		{Export: "exthttp", Input: []byte(`{"url":"https://example.com/"}`)},
		{Export: "cat", Input: []byte("/workspace/a.txt"), Grant: ro},
		{Export: "walk", Input: []byte("/workspace"), Grant: ro},
		{Export: "cat", Input: []byte("/workspace/abs"), Grant: ro},
		{Export: "cat", Input: []byte("/workspace/a.txt")},
		{Export: "files", Input: []byte("write /workspace/a.txt x"), Grant: ro},
		{Export: "nothing"},
	} {
		if diff := same(p.call(inv)); diff != "" {
			t.Errorf("%s(%.60q): %s", inv.Export, inv.Input, diff)
		}
	}
}

// Both engines give the same results for modules that no compiler makes. Rows with a
// reason are meant to differ.
func TestEnginesOnHandMadeGuests(t *testing.T) {
	const (
		// Extism's SDK answers these functions in Go and ends the call where the
		// place is not in memory. The kernel, and so other hosts of Extism, reads
		// zero there and drops what is written.
		byTheKernel = "the kernel answers by itself"
		// Extism's SDK has no plugin yet when the start section runs.
		inStart = "host functions work in a start section"
	)
	endless := func(i *Invocation, _ *Plugin) { i.Timeout = 200 * time.Millisecond }
	trap := op(w.Unreachable)
	text9 := text("key nine!")
	for _, row := range []struct {
		name    string
		wasm    []byte
		change  func(*Invocation, *Plugin)
		differs string
	}{
		{name: "echo", wasm: echoModule()},
		{name: "no output", wasm: bareModule(0x41, 0)},
		{name: "a number for a reason", wasm: bareModule(0x41, 0x7f)},
		{name: "a trap", wasm: bareModule(0x00)},
		{name: "recursion", wasm: bareModule(0x10, 0)},
		{name: "a division", wasm: bareModule(0x41, 1, 0x41, 0, 0x6d)},
		{name: "no result at all", wasm: guestShape{plain: map[string]part{"run": says("done")}}.bytes()},
		{name: "memory beyond its end", wasm: memoryModule([]byte{0, 1}, 0x41, 0x7f, 0x28, 2, 0)},
		{name: "growth that fails and is handled", wasm: memoryModule([]byte{0, 1}, 0x41, 0xff, 0xff, 0x03, 0x40, 0, 0x1a, 0x41, 0)},
		{name: "growth that fails and is not", wasm: memoryModule([]byte{0, 1}, 0x41, 0xff, 0xff, 0x03, 0x40, 0, 0x1a, 0x00)},
		{name: "growth beyond its own limit", wasm: memoryModule([]byte{1, 1, 1}, 0x41, 1, 0x40, 0, 0x1a, 0x00)},
		{name: "growth to its own limit", wasm: memoryModule([]byte{1, 1, 3}, 0x41, 2, 0x40, 0)},
		{name: "a little more memory than the cap", wasm: memoryModule([]byte{0, 1}, 0x41, 16, 0x40, 0, 0x1a, 0x00), change: func(_ *Invocation, p *Plugin) { p.Memory = 1 << 20 }},
		{name: "as much memory as the cap", wasm: memoryModule([]byte{0, 1}, 0x41, 15, 0x40, 0), change: func(_ *Invocation, p *Plugin) { p.Memory = 1 << 20 }},
		{name: "spinning", wasm: bareModule(0x03, 0x40, 0x0c, 0, 0x0b, 0x00), change: endless},
		{name: "spinning before anything is called", wasm: startModule(nil, 0, 0x03, 0x40, 0x0c, 0, 0x0b), change: endless},
		{name: "a trap before anything is called", wasm: startModule(nil, 0, 0x00)},
		{name: "an exit before anything is called", wasm: startModule(w.Vec(imp("wasi_snapshot_preview1", "proc_exit", 3)), 1, 0x41, 0, 0x10, 0)},
		{name: "a start section that keeps to itself", wasm: guestShape{start: op(0x42, 9, 0x24, 0), exports: map[string]part{"run": number(op(0x23, 0))}}.bytes()},
		{name: "a start section that logs", wasm: guestShape{start: do(text("hello"), the("log_info", get(0))), exports: map[string]part{"run": says("x")}}.bytes(), differs: inStart},
		{name: "an initialiser", wasm: guestShape{plain: map[string]part{"_initialize": op(0x42, 9, 0x24, 0)}, exports: map[string]part{"run": number(op(0x23, 0))}}.bytes()},
		{name: "another one", wasm: guestShape{plain: map[string]part{"__wasm_call_ctors": op(0x42, 8, 0x24, 0)}, exports: map[string]part{"run": number(op(0x23, 0))}}.bytes()},
		{name: "both", wasm: guestShape{plain: map[string]part{"_initialize": op(0x42, 9, 0x24, 0), "__wasm_call_ctors": trap}, exports: map[string]part{"run": number(op(0x23, 0))}}.bytes()},
		{name: "an initialiser that returns something", wasm: guestShape{raw: map[string]part{"_initialize": op(0x42, 9, 0x24, 0, 0x41, 1)}, exports: map[string]part{"run": number(op(0x23, 0))}}.bytes()},
		{name: "an initialiser that traps", wasm: guestShape{plain: map[string]part{"_initialize": trap}, exports: map[string]part{"run": says("x")}}.bytes()},
		{name: "an initialiser that exits", wasm: guestShape{plain: map[string]part{"_initialize": the("proc_exit", num(4))}, exports: map[string]part{"run": says("x")}}.bytes()},
		{name: "an initialiser that spins", wasm: guestShape{plain: map[string]part{"_initialize": forever()}, exports: map[string]part{"run": says("x")}}.bytes(), change: endless},
		{name: "an initialiser that leaves a block", wasm: guestShape{plain: map[string]part{"_initialize": says("early")}, exports: map[string]part{"run": number(the("memory_bytes"))}}.bytes()},
		{name: "an initialiser that reads its settings", wasm: guestShape{plain: map[string]part{"_initialize": do(text9, the("config_get", get(0)), op(0x24, 0))}, exports: map[string]part{"run": number(extend(op(0x23, 0, 0x50)))}}.bytes()},
		{name: "an initialiser that sets a variable", wasm: guestShape{plain: map[string]part{"_initialize": do(text9, get(0), set(2), text("value"), the("var_set", get(2), get(0)))},
			exports: map[string]part{"run": do(text9, the("var_get", get(0)), set(2), number(the("length", get(2))))}}.bytes()},
		{name: "a command's start", wasm: guestShape{plain: map[string]part{"_start": trap}, exports: map[string]part{"run": says("x")}}.bytes()},
		{name: "an exit in the middle", wasm: running(says("x"), the("proc_exit", num(0)))},
		{name: "an error and then an exit", wasm: running(text("I give up"), the("error_set", get(0)), the("proc_exit", num(1)))},
		{name: "an error and success", wasm: running(says("x"), text("and yet"), the("error_set", get(0)))},
		{name: "an error taken back", wasm: running(says("x"), text("no"), the("error_set", get(0)), the("error_set", long(0)))},
		{name: "an error of nowhere", wasm: running(the("error_set", long(1<<40)))},
		{name: "an error that is read again", wasm: running(text("no"), the("error_set", get(0)), number(the("error_get")))},
		{name: "an answer set twice", wasm: running(says("one"), says("two, longer"))},
		{name: "a part of a block", wasm: running(text("whole"), the("output_set", get(0), long(2)))},
		{name: "more than a block", wasm: running(text("whole"), the("output_set", get(0), long(600)))},
		{name: "an output beyond memory", wasm: running(text("whole"), the("output_set", get(0), long(1<<30)))},
		{name: "an output at no place", wasm: running(the("output_set", long(0), long(4)))},
		{name: "an output of nothing", wasm: running(says("x"), the("output_set", long(0), long(0)))},
		{name: "an output too large", wasm: running(the("alloc", long(2000)), set(0), the("output_set", get(0), long(2000))), change: func(i *Invocation, _ *Plugin) { i.MaxOutput = 1999 }},
		{name: "an output of an absurd length", wasm: running(the("output_set", long(100), long(-1)))},
		{name: "a length forged in the kernel", wasm: running(says("x"), the("store_u64", long(57), long(60<<20)))},
		{name: "a longer length forged in the kernel", wasm: running(says("x"), the("store_u64", long(57), long(-1)))},
		{name: "memory of the kernel used up", wasm: running(the("alloc", long(80<<20)), set(0), the("output_set", get(0), long(10)))},
		{name: "and not needed", wasm: running(the("alloc", long(80<<20)), op(w.Drop), says("x"))},
		{name: "an allocation beyond numbers", wasm: running(number(the("alloc", long(-1))))},
		{name: "variables, too many", wasm: running(text9, get(0), set(2), the("alloc", long(1<<20)), set(0), the("var_set", get(2), get(0)), says("x"))},
		{name: "variables, just so many", wasm: running(text9, get(0), set(2), the("alloc", long(1<<20-60)), set(0), the("var_set", get(2), get(0)), text9, number(the("length", the("var_get", get(0)))))},
		{name: "a variable taken back", wasm: running(text9, get(0), set(2), text("v"), the("var_set", get(2), get(0)), text9, the("var_set", get(0), long(0)), text9, number(the("var_get", get(0))))},
		{name: "a variable's name is taken", wasm: running(text9, the("var_get", get(0)), op(w.Drop), number(the("length", get(0))))},
		{name: "a setting's name is not", wasm: running(text9, the("config_get", get(0)), op(w.Drop), number(the("length", get(0))))},
		{name: "a log line is taken", wasm: running(text9, the("log_info", get(0)), number(the("length", get(0))))},
		{name: "the level of the log", wasm: running(number(extend(the("get_log_level"))))},
		{name: "roots", wasm: running(the("list_roots"), set(0), the("output_set", get(0), the("length", get(0))))},
		{name: "other tools", wasm: running(the("notify_tool_list_changed"), says("x"))},
		{name: "a request of nothing", wasm: running(number(the("weir_http", long(0))))},
		{name: "headers before a request", wasm: running(the("http_headers"), set(0), the("output_set", get(0), the("length", get(0))))},
		{name: "a status before a request", wasm: running(number(extend(the("http_status_code"))))},
		{name: "the kernel reset by the guest", wasm: running(says("x"), the("reset"))},
		{name: "another input", wasm: running(text9, the("input_set", get(0), long(9)), number(the("input_length")))},
		{name: "input byte by byte", wasm: running(number(extend(the("input_load_u8", long(1)))))},
		{name: "input beyond its end", wasm: running(number(extend(the("input_load_u8", long(90)))))},
		{name: "eight bytes of input", wasm: running(number(the("input_load_u64", long(0))))},
		{name: "eight bytes beyond its end", wasm: running(number(the("input_load_u64", long(7)))), differs: byTheKernel},
		{name: "eight bytes beyond memory", wasm: running(number(the("load_u64", long(1<<33-4)))), differs: byTheKernel},
		{name: "eight bytes to nowhere", wasm: running(the("store_u64", long(1<<32-4), long(1)), says("x")), differs: byTheKernel},
		{name: "a ring of blocks, and a search in it", wasm: running(text9, the("store_u64", do(get(0), long(-8), op(0x7c)), long(0xfffffff4)), the("free", long(1<<19)), says("x")), change: endless},
		{name: "the same from the host", wasm: running(text9, the("store_u64", do(get(0), long(-8), op(0x7c)), long(0xfffffff4)), the("error_set", long(1<<19)), says("x")), change: endless},
		{name: "a sleep", wasm: running(nap(time.Hour), says("awake")), change: endless},
		{name: "many logs", wasm: running(num(600), op(w.LocalSet, 4), op(w.Loop, w.Empty), text("again"), the("log_info", get(0)),
			op(w.LocalGet, 4), num(1), op(0x6b), op(w.LocalSet, 4), op(w.LocalGet, 4), op(w.BrIf, 0, w.End), says("x"))},
	} {
		t.Run(row.name, func(t *testing.T) {
			pl := Plugin{Name: "hand", Wasm: row.wasm}
			inv := Invocation{Export: "run", Input: []byte("the input")}
			if row.change != nil {
				row.change(&inv, &pl)
			}
			diff := same(newPair(t, pl).call(inv))
			if (diff != "") != (row.differs != "") {
				t.Errorf("meant to differ, for %q: %t; %s", row.differs, row.differs != "", diff)
			}
		})
	}
}

// nap sleeps by poll_oneoff.
func nap(d time.Duration) part {
	return do(num(0), num(0), op(0x36, 2, 0), num(8), op(w.I32Const, 0), op(0x3a, 0, 0), // a clock
		num(16), num(1), op(0x36, 2, 0), num(24), long(d.Nanoseconds()), op(0x37, 3, 0), num(40), num(0), op(0x36, 2, 0),
		the("poll_oneoff", num(0), num(128), num(1), num(256)), op(w.Drop))
}

// Both engines give the same numbers for random programs that use the kernel.
func TestEnginesOnTheKernel(t *testing.T) {
	testsize.Only(t)
	p := newPair(t, Plugin{Name: "guest", Wasm: goGuest})
	rapid.Check(t, func(rt *rapid.T) {
		program := rapid.SliceOfN(rapid.Byte(), 0, 90).Draw(rt, "program")
		if diff := same(p.call(Invocation{Export: "blocks", Input: program})); diff != "" {
			rt.Error(diff)
		}
	})
}

// TestEnginesOnShippedTools calls the tools that ship.
func TestEnginesOnShippedTools(t *testing.T) {
	testsize.Only(t)
	work := t.TempDir()
	if err := os.WriteFile(filepath.Join(work, "notes.md"), []byte("# Weirs\n\nA weir holds a river back.\nIt lets a part through.\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	mount := Grant{Mounts: []jail.Mount{{Guest: "/workspace", Host: work}}}
	calls := map[string][]Invocation{
		"calculator":  {{Input: []byte(`{"expression":"123 * 456 + sqrt(2)"}`)}, {Input: []byte(`{"expression":"1 +"}`)}, {Input: []byte(`{"expression":5}`)}, {Input: []byte(`not json`)}},
		"long_text":   {{Input: []byte(`{"chars":5000}`)}, {Input: []byte(`{}`)}},
		"read_file":   {{Input: []byte(`{"path":"/workspace/notes.md"}`), Grant: mount}, {Input: []byte(`{"path":"notes.md"}`), Grant: mount}, {Input: []byte(`{"path":"none"}`), Grant: mount}, {Input: []byte(`{"path":"notes.md"}`)}},
		"grep_search": {{Input: []byte(`{"pattern":"weir"}`), Grant: mount}, {Input: []byte(`{"pattern":"("}`), Grant: mount}},
		"fetch_url":   {{Input: []byte(`{"url":"https://example.com/"}`)}, {Input: []byte(`{"url":"https://example.com/"}`), Grant: Grant{HTTP: echoSender{}}}},
	}
	for name, invs := range calls {
		dir := guesttest.Shipped(t, name)
		wasm, err := os.ReadFile(filepath.Join(dir, name, name+".wasm"))
		if err != nil {
			t.Fatal(err)
		}
		p := newPair(t, Plugin{Name: name, Wasm: wasm})
		for _, inv := range invs {
			inv.Export = name
			got := p.call(inv)
			if diff := same(got); diff != "" {
				t.Errorf("%s(%s): %s", name, inv.Input, diff)
			}
			if got[0][0].Text == "" && got[0][0].Fail == "" {
				t.Errorf("%s(%s): nothing was seen", name, inv.Input)
			}
		}
	}
}
