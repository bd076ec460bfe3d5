// Command embed runs weir's tools inside a Go program, without its daemon and
// without a model: it calls a tool of a plugin folder, shows what was cut and by
// which limit, and takes a part of the whole back.
//
//	go run ./examples/embed
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

func main() {
	// With this a plugin runs in a process of its own: this program once more.
	if code, ok := host.WorkerMain(); ok {
		os.Exit(code)
	}
	cache, err := os.UserCacheDir()
	if err == nil {
		err = run(context.Background(), os.Stdout, "examples/tools", filepath.Join(cache, "weir", "wasm"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "embed:", err)
		os.Exit(1)
	}
}

// run calls examples/tools/primes, a script that needs no build.
func run(ctx context.Context, out io.Writer, plugins, cache string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	h, err := host.Open(ctx, host.Config{
		Settings: host.Settings{
			Folders: []plugin.Folder{{Path: plugins, Trust: plugin.TrustGranted}},
			Archive: archive.Config{Path: ""}, // a temporary file; a path keeps results,
			// What the operator says of a tool comes before what the tool declares.
			Tools: map[string]host.ToolConfig{"primes": {Limits: tool.Limits{MaxChars: 600}}},
		},
		CacheDir:      cache, // compiled modules,
		WorkerCommand: []string{self},
	})
	if err != nil {
		return err
	}
	defer h.Close()
	for _, p := range h.Plugins() {
		fmt.Fprintf(out, "%-18s %s %s\n", p.Name, p.State, p.Why)
	}

	// What a session archives can be read in its conversation, and nowhere else.
	s := h.Session("me", "example")
	r, err := s.Call(ctx, tool.Call{ID: "1", Tool: "primes", Args: json.RawMessage(`{"below": 20000}`)})
	if err != nil {
		return err // the host is closed, or ctx has ended; what a tool fails with is in r.Err
	}
	if r.Err != nil {
		return r.Err
	}
	fmt.Fprintf(out, "\nshown, with the notice that a model reads:\n%s\n", limit.Render(r, tool.En))
	missing, _ := r.Shown.Missing()
	fmt.Fprintf(out, "\n%d of %d characters left out, by %s\n", missing, r.Shown.TotalChars, limit.Name(r.Shown.By, r.Shown.Limit, r.Shown.Unit, tool.En))

	part, err := s.Call(ctx, tool.Call{ID: "2", Tool: tool.LoadHistory, Args: fmt.Appendf(nil, `{"uuid": %q, "lines": "100-102"}`, r.Ref.UUID)})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nlines 100 to 102 of the whole:\n%s\n", part.Shown.Text)
	return nil
}
