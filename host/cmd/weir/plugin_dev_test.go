package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/weirhost/weir/host/internal/author"
	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/internal/term"
)

// A heard is what a command has written so far; wait waits for more of it.
type heard struct {
	mu   sync.Mutex
	text strings.Builder
	more chan struct{}
}

func (h *heard) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case h.more <- struct{}{}:
	default:
	}
	return h.text.Write(b)
}

// wait returns when the text contains another text after its first from bytes.
func (h *heard) wait(t *testing.T, from int, text string) (end int) {
	t.Helper()
	for {
		h.mu.Lock()
		all := h.text.String()
		h.mu.Unlock()
		if i := strings.Index(all[from:], text); i >= 0 {
			return from + i + len(text)
		}
		select {
		case <-h.more:
		case <-t.Context().Done():
			t.Fatalf("%q does not come:\n%s", text, all[from:])
		}
	}
}

// weir plugin dev builds and tests at once, and again when a file is saved. It shows a
// mistake, and an interrupt ends it without an error.
func TestPluginDev(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sample")
	if _, err := author.New(dir, author.Spec{Name: "sample", Language: "go", Template: "basic"}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	env := map[string]string{"HOME": t.TempDir(), "WEIR_CACHE": guesttest.Cache(t)}
	out := &heard{more: make(chan struct{}, 1)}
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"plugin", "dev", dir}, term.Env{In: strings.NewReader(""), Out: out, Err: out, Lookup: func(name string) (string, bool) { v, ok := env[name]; return v, ok }})
	}()
	at := out.wait(t, 0, "left out by the tool's limit of 60 lines")
	at = out.wait(t, at, "waiting for a file to be saved")
	more := filepath.Join(dir, "more.go")
	if err := os.WriteFile(more, []byte("package main\n\nvar _ = nowhere\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	at = out.wait(t, at, "more.go:3")
	at = out.wait(t, at, "go could not build the tool")
	if err := os.Remove(more); err != nil {
		t.Fatal(err)
	}
	at = out.wait(t, at, "ok    sample: 5 cases")
	out.wait(t, at, "waiting for a file to be saved")
	stop()
	if code := <-ended; code != 0 {
		t.Errorf("it ended with %d", code)
	}
}
