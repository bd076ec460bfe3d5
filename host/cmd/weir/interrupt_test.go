package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/internal/term"
)

// whenWritten calls f when something was written.
type whenWritten struct {
	bytes.Buffer
	f func()
}

func (w *whenWritten) Write(p []byte) (int, error) {
	w.f()
	return w.Buffer.Write(p)
}

// An answer that is interrupted without a daemon is stored as far as it came,
// before the archive closes.
func TestInterruptedAnswerIsStored(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"content":"The first words of an answer. "}}]}`+"\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done() // and nothing more
	}))
	defer srv.Close()
	dir := t.TempDir()
	config := filepath.Join(dir, "tools.toml")
	if err := os.WriteFile(config, fmt.Appendf(nil, "[agent]\nmodel = \"m\"\n[models.m]\nprovider = \"openai\"\nbase_url = %q\nkey = \"k\"\nmodel = \"m\"\nwindow = 32768\nnative_tools = false\n", srv.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var stderr bytes.Buffer
	out := &whenWritten{f: cancel}
	code := run(ctx, []string{"--config", config, "--data", dir, "ask", "Hello?"}, term.Env{In: strings.NewReader(""), Out: out, Err: &stderr, Lookup: func(string) (string, bool) { return "", false }})
	if code != term.ExitInterrupted || !strings.Contains(stderr.String(), "interrupted") {
		t.Errorf("exit %d: %s", code, &stderr)
	}
	results, err := archive.Open(t.Context(), archive.Config{Path: filepath.Join(dir, "archive.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer results.Close()
	db, err := store.Open(t.Context(), results)
	if err != nil {
		t.Fatal(err)
	}
	list, err := db.Conversations(t.Context(), "local", 10)
	if err != nil || len(list) != 1 {
		t.Fatalf("conversations: %v, %v", list, err)
	}
	ms, err := db.Messages(t.Context(), archive.Scope{Principal: "local", Conversation: list[0].ID})
	if err != nil || len(ms) != 2 || !strings.Contains(ms[1].Content, "The first words") {
		t.Errorf("stored: %+v, %v", ms, err)
	}
}
