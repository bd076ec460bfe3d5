package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/host/internal/worker"
)

func TestMain(m *testing.M) {
	if code, ok := worker.Main(nil); ok {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// testBench is a bench on the tests' cache of compiled modules, without guests
// that have to be built.
func testBench(t *testing.T) *bench {
	b := &bench{options: options{rounds: 1, cache: guesttest.Cache(t)}, temp: t.TempDir()}
	t.Cleanup(func() {
		if err := b.close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// The guest that represents those of C compilers answers the same on both engines,
// with and without a mailbox, for texts that fit its memory and longer ones.
func TestPlainGuest(t *testing.T) {
	b := testBench(t)
	for name, mailbox := range map[string]bool{"mailbox": true, "extism": false} {
		t.Run(name, func(t *testing.T) {
			ours, err := b.inline(t.Context(), plainGuest(mailbox), false)
			if err != nil {
				t.Fatal(err)
			}
			ref, err := b.newReference(t.Context(), plainGuest(mailbox))
			if err != nil {
				t.Fatal(err)
			}
			input := make([]byte, 200_003)
			for i := range input {
				input[i] = byte(i * 7)
			}
			for _, n := range []int{0, 1, 7, 8, 100, 70_001, len(input), 5} {
				same(t, ours, ref, "echo", input[:n], input[:n])
			}
			for _, n := range []string{"1", "12", "65536", "1048576"} {
				same(t, ours, ref, "text", []byte(n), nil)
			}
		})
	}
}

// same expects the same answer from both, and that it is want, or only x.
func same(t *testing.T, ours caller, ref *reference, export string, input, want []byte) {
	t.Helper()
	out, fail := ours.Call(t.Context(), sandbox.Invocation{Export: export, Input: input})
	if fail != nil {
		t.Fatal(fail)
	}
	_, other, err := ref.warm.Call(export, input)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out.Bytes, other) {
		t.Errorf("%s of %d bytes: %d bytes here, %d on the SDK", export, len(input), len(out.Bytes), len(other))
	}
	if want == nil {
		want = bytes.Repeat([]byte("x"), len(other))
	}
	if !bytes.Equal(out.Bytes, want) || export == "text" && len(other) == 0 {
		t.Errorf("%s of %d bytes answers other %d bytes", export, len(input), len(other))
	}
}

// The loops come to an end.
func TestLoops(t *testing.T) {
	b := testBench(t)
	for _, l := range loops() {
		c, err := b.inline(t.Context(), l.wasm, true)
		if err != nil {
			t.Fatal(err)
		}
		if err := repeat(t.Context(), c, job{export: "run"}, 1); err != nil {
			t.Errorf("%s: %v", l.name, err)
		}
	}
}

// A run prints a row for each promise of the works that were asked for, and says
// whether all are kept.
func TestTable(t *testing.T) {
	var out strings.Builder
	tab := newTable(&out)
	tab.print([]row{{what: "quick", ours: took(4400), ref: took(66 * time.Microsecond), ratio: 1. / 15, target: most(1. / 6)}})
	if !tab.ok {
		t.Error("a promise that is kept counts as missed")
	}
	tab.print([]row{
		{what: "slow", ours: took(132 * time.Millisecond), ref: took(66 * time.Millisecond), ratio: 2, target: most(1.15)},
		{what: "slower than promised", ratio: 3, target: most(1. / 6)},
		{what: "together", ratio: 1.6, target: least(1.5)},
		{what: "memory", ratio: 61, target: target{bound: 60, unit: "MB"}},
	})
	if tab.ok {
		t.Error("a promise that is missed counts as kept")
	}
	for _, want := range []string{
		"4.4 µs          66 µs       1/15     ≤ 1/6  ok", "132 ms          66 ms        2 ×  ≤ 1.15 ×  short",
		"3 ×     ≤ 1/6  short", "1.6 ×   ≥ 1.5 ×  ok", "61 MB   ≤ 60 MB  short",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

// Every work that needs no other program runs and gives its rows.
func TestWorks(t *testing.T) {
	b := testBench(t)
	b.direct = plainGuest(true) // replaces the guests that have to be built
	b.extism = plainGuest(false)
	var err error
	if b.self, err = os.Executable(); err != nil {
		t.Fatal(err)
	}
	for _, w := range b.works() {
		if !strings.HasPrefix(w.name, "echo") && !strings.HasPrefix(w.name, "two") && w.name != "primes" {
			continue
		}
		rows, err := w.measure(context.Background())
		if err != nil {
			t.Errorf("%s: %v", w.name, err)
		}
		for _, r := range rows {
			if r.ratio <= 0 || r.target.bound <= 0 || r.ours == "" {
				t.Errorf("%s: %+v", w.name, r)
			}
		}
	}
}
