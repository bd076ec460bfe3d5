package daemon

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/internal/sandbox"
	wt "github.com/weirhost/weir/host/internal/wasmtest"
)

// Most tests of this package need a tool that answers, not these tools. The shipped
// modules have 4 MB each, and to scan and load them takes a third of the processor time
// of all tests. Therefore the shipped tools run once, with the arguments below, and each
// server gets modules of a few kilobytes, which return the same bytes for them.
var standInArgs = map[string][]string{
	"calculator": filled(`{"expression":%q}`, "1+1", "1/0", "17 * 3", "1", "2 + 2", "2*3", "2+1", "2+2", "3+1", "6*7"),
	"long_text":  append(filled(`{"lines":%d}`, slices.Concat([]int{3, 5, 30, 40, 200, 400, 500, 700, 800, 900}, numbers(300, 320), numbers(770, 790))...), "{}"),
}

func filled[T any](form string, values ...T) (all []string) {
	for _, v := range values {
		all = append(all, fmt.Sprintf(form, v))
	}
	return all
}

func numbers(from, below int) (all []int) {
	for n := from; n < below; n++ {
		all = append(all, n)
	}
	return all
}

// A standIn is the recorded calls of one tool, and the module that answers them so.
type standIn struct {
	calls []record
	wasm  []byte
}

// A record is one call: the arguments, and the answer in parts that answers share.
type record struct {
	args  string
	parts []string
}

// standIns returns a folder with the shipped calculator and long_text, whose modules are
// stand-ins.
func standIns(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for name, answers := range recordings(t) {
		to := filepath.Join(dir, name)
		manifest, err := os.ReadFile(filepath.Join(guesttest.Root(t), "plugins", name, "plugin.toml"))
		if err == nil {
			err = os.MkdirAll(to, 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(to, "plugin.toml"), manifest, 0o644)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name+".wasm"), answers.wasm, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

var (
	recording sync.Once
	records   map[string]standIn // never written to after recording
)

func recordings(t testing.TB) map[string]standIn {
	t.Helper()
	recording.Do(func() {
		made := make(map[string]standIn)
		for name, inputs := range standInArgs {
			wasm, err := os.ReadFile(filepath.Join(guesttest.Shipped(t, name), name, name+".wasm"))
			if err != nil {
				t.Fatal(err)
			}
			call := loaded(t, name, wasm)
			var calls []record
			for _, args := range inputs {
				calls = append(calls, record{args, call(args)})
			}
			made[name] = standIn{calls, module(name, calls)}
		}
		records = made
	})
	if len(records) == 0 {
		t.Fatal("the shipped tools were not recorded: see the first test that failed")
	}
	return records
}

// loaded loads a module and returns a function that calls it. The answer is one text
// in the form that an export returns, in parts.
func loaded(t testing.TB, name string, wasm []byte) func(args string) []string {
	t.Helper()
	e, err := sandbox.New(t.Context(), sandbox.Config{CacheDir: guesttest.Cache(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close(context.Background()) })
	m, err := e.Load(t.Context(), sandbox.Plugin{Name: name, Wasm: wasm, Exports: []string{name}})
	if err != nil {
		t.Fatal(err)
	}
	return func(args string) []string {
		out, fail := m.Call(t.Context(), sandbox.Invocation{Export: name, Input: []byte(args)})
		if fail != nil {
			return []string{"", fail.Error()}
		}
		if !out.Text {
			return []string{string(out.Bytes)}
		}
		text, err := json.Marshal(string(out.Bytes))
		if err != nil {
			t.Fatal(err)
		}
		return []string{`{"content":[{"type":"text","text":"`, string(text[1 : len(text)-1]), `"}],"isError":false}`}
	}
}

// module returns a module that compares its input with the arguments of calls and returns
// the answer to them. It fails for others.
func module(export string, calls []record) []byte {
	const (
		i32Load8 byte = 0x2d
		i32Ne    byte = 0x47
		i32GeU   byte = 0x4f
		i64Ne    byte = 0x52
		i32Add   byte = 0x6a
		i64Add   byte = 0x7c
		i64OfI32 byte = 0xad
	)
	const ( // functions
		inputLength = iota
		inputByte
		alloc
		store
		outputSet
		errorSet
		match
		put
		answer
	)
	data := texts(calls)
	at := func(text string) []byte {
		return wt.Cat([]byte{wt.I32Const}, wt.S32(int32(bytes.Index(data, []byte(text)))), []byte{wt.I32Const}, wt.S32(int32(len(text))))
	}
	i64 := func(n int) []byte { return wt.Cat([]byte{wt.I64Const}, wt.S64(int64(n))) }
	// give copies parts to a new block, which it leaves in the local 0.
	give := func(parts []string) []byte {
		code := wt.Cat(i64(len(strings.Join(parts, ""))), []byte{wt.Call, alloc, wt.LocalSet, 0, wt.LocalGet, 0})
		for _, p := range parts {
			code = wt.Cat(code, at(p), []byte{wt.Call, put})
		}
		return append(code, wt.Drop)
	}
	next := func(k byte) []byte {
		return []byte{wt.LocalGet, k, wt.I32Const, 1, i32Add, wt.LocalSet, k, wt.Br, 0, wt.End, wt.Unreachable}
	}
	var code []byte
	for _, e := range calls {
		code = wt.Cat(code, at(e.args), []byte{wt.Call, match, wt.If, wt.Empty}, give(e.parts),
			[]byte{wt.LocalGet, 0}, i64(len(strings.Join(e.parts, ""))), []byte{wt.Call, outputSet, wt.I32Const, 0, wt.Return, wt.End})
	}
	code = wt.Cat(code, give([]string{notRecorded}), []byte{wt.LocalGet, 0, wt.Call, errorSet, wt.I32Const, 1})
	const env = "extism:host/env"
	return wt.New().
		Types(wt.Func(nil, []byte{wt.I32}), wt.Func(nil, []byte{wt.I64}), wt.Func([]byte{wt.I64}, []byte{wt.I32}), wt.Func([]byte{wt.I64}, []byte{wt.I64}),
			wt.Func([]byte{wt.I64, wt.I32}, nil), wt.Func([]byte{wt.I64, wt.I64}, nil), wt.Func([]byte{wt.I64}, nil),
			wt.Func([]byte{wt.I32, wt.I32}, []byte{wt.I32}), wt.Func([]byte{wt.I64, wt.I32, wt.I32}, []byte{wt.I64})).
		Imports(wt.ImportFunc(env, "input_length", 1), wt.ImportFunc(env, "input_load_u8", 2), wt.ImportFunc(env, "alloc", 3),
			wt.ImportFunc(env, "store_u8", 4), wt.ImportFunc(env, "output_set", 5), wt.ImportFunc(env, "error_set", 6)).
		Functions(7, 8, 0).
		Memories(wt.Limits(uint32(len(data)>>16+1), -1)).
		Exports(wt.ExportFunc(export, answer)).
		Code(
			wt.BodyWith([][]byte{wt.Locals(1, wt.I32)}, wt.Cat( // match(at, length): is this the input?
				[]byte{wt.LocalGet, 1, i64OfI32, wt.Call, inputLength, i64Ne, wt.If, wt.Empty, wt.I32Const, 0, wt.Return, wt.End},
				[]byte{wt.Loop, wt.Empty, wt.LocalGet, 2, wt.LocalGet, 1, i32GeU, wt.If, wt.Empty, wt.I32Const, 1, wt.Return, wt.End},
				[]byte{wt.LocalGet, 2, i64OfI32, wt.Call, inputByte, wt.LocalGet, 0, wt.LocalGet, 2, i32Add, i32Load8, 0, 0, i32Ne},
				[]byte{wt.If, wt.Empty, wt.I32Const, 0, wt.Return, wt.End}, next(2))...),
			wt.BodyWith([][]byte{wt.Locals(1, wt.I32)}, wt.Cat( // put(block, at, length): copies, and returns the end
				[]byte{wt.Loop, wt.Empty, wt.LocalGet, 3, wt.LocalGet, 2, i32GeU, wt.If, wt.Empty},
				[]byte{wt.LocalGet, 0, wt.LocalGet, 3, i64OfI32, i64Add, wt.Return, wt.End},
				[]byte{wt.LocalGet, 0, wt.LocalGet, 3, i64OfI32, i64Add, wt.LocalGet, 1, wt.LocalGet, 3, i32Add, i32Load8, 0, 0, wt.Call, store}, next(3))...),
			wt.BodyWith([][]byte{wt.Locals(1, wt.I64)}, code...)).
		Data(wt.Segment(0, data)).Bytes()
}

const notRecorded = "a stand-in has no answer to these arguments: add them to standInArgs in standin_test.go"

// texts holds every text of calls once; one that begins another, not again.
func texts(calls []record) []byte {
	all := []string{notRecorded}
	for _, e := range calls {
		all = append(append(all, e.args), e.parts...)
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	var data []byte
	for _, text := range all {
		if !bytes.Contains(data, []byte(text)) {
			data = append(data, text...)
		}
	}
	return data
}

// A stand-in returns what the shipped tool returns, and does not guess.
func TestStandIns(t *testing.T) {
	for name, answers := range recordings(t) {
		call := loaded(t, name, answers.wasm)
		for _, e := range answers.calls {
			if got, want := strings.Join(call(e.args), ""), strings.Join(e.parts, ""); got != want || want == "" {
				t.Errorf("%s(%s) is %.200q, the tool's %.200q", name, e.args, got, want)
			}
		}
		for _, args := range []string{"", `{"expression":"6*8"}`, `{"lines":31}`, `{} `} {
			if got := call(args); len(got) != 2 || !strings.Contains(got[1], "standin_test.go") {
				t.Errorf("%s(%s) is %.200q", name, args, got)
			}
		}
	}
}
