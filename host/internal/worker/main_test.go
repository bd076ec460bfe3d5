//go:build linux

package worker

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/internal/sandbox"
)

var (
	command []string // starts a worker
	goGuest []byte   // the guest of the sandbox's own tests
)

// TestMain builds the worker and the guest.
func TestMain(m *testing.M) {
	if play() {
		return
	}
	if code, ok := Main(nil); ok {
		os.Exit(code)
	}
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "weir-worker-")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		if command, err = guesttest.Worker("../../.."); err != nil {
			panic(err)
		}
		wasm := filepath.Join(dir, "guest.wasm")
		if err = guesttest.BuildTo("../sandbox/testdata/guest", wasm); err != nil {
			panic(err)
		}
		if goGuest, err = os.ReadFile(wasm); err != nil {
			panic(err)
		}
		return m.Run()
	}())
}

// newPool returns a pool on the shared cache that is closed at the end of the test.
func newPool(t testing.TB, change func(*Config)) *Pool {
	t.Helper()
	c := Config{Command: command, CacheDir: guesttest.Cache(t)}
	if change != nil {
		change(&c)
	}
	p, err := New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return p
}

func load(t testing.TB, p *Pool, pl sandbox.Plugin) *Module {
	t.Helper()
	m, err := p.Load(t.Context(), pl)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
