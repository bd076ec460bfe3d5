package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// The zero Config is a host without plugins, which archives results in a temporary file.
func ExampleOpen() {
	h, err := host.Open(context.Background(), host.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	for _, t := range h.Tools() {
		fmt.Println(t.Spec.Name)
	}
	// Output:
	// load_tool_history
	// search_tool_history
}

// A host with a folder of plugins, one of which may read a folder of the user.
func ExampleOpen_plugins() {
	h, err := host.Open(context.Background(), host.Config{
		Settings: host.Settings{
			Folders: []plugin.Folder{{Path: "plugins", Trust: plugin.TrustGranted}},
			Grants: map[string]plugin.Grant{
				"read_file": {Paths: []plugin.PathGrant{{Guest: "/work", Host: "/home/me/project"}}},
			},
			Defaults: tool.Limits{MaxChars: 8000, Timeout: 30 * time.Second},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	for _, p := range h.Plugins() {
		fmt.Println(p.Name, p.State, p.Why)
	}
}

// The result of another program is archived and cut like that of a plugin.
func ExampleSession_Ingest() {
	ctx := context.Background()
	h, err := host.Open(ctx, host.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	s := h.Session("me", "conversation-1")
	r, err := s.Ingest(ctx, tool.Call{Tool: "grep", Args: json.RawMessage(`{"pattern":"error"}`)}, []byte(strings.Repeat("an error\n", 5000)))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Shown.TotalChars, r.Shown.Cut(), r.Ref != nil)
	// Output: 45000 true true
}

// A call of a tool. The archive returns any part of a result that was cut.
func ExampleSession_Call() {
	ctx := context.Background()
	h, err := host.Open(ctx, host.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	s := h.Session("me", "conversation-1")
	var lines strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&lines, "line %d\n", i+1)
	}
	r, err := s.Ingest(ctx, tool.Call{Tool: "grep"}, []byte(lines.String()))
	if err != nil {
		log.Fatal(err)
	}
	args := fmt.Appendf(nil, `{"uuid":%q,"lines":"1000-1001"}`, r.Ref.UUID)
	part, err := s.Call(ctx, tool.Call{Tool: tool.LoadHistory, Args: args})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(part.Whole())
	// Output:
	// line 1000
	// line 1001
}

// A failure of a call is data for the model. An error means that the caller must stop.
func ExampleSession_Call_failure() {
	ctx := context.Background()
	h, err := host.Open(ctx, host.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	r, err := h.Session("me", "conversation-1").Call(ctx, tool.Call{Tool: "calculate"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Err.Code)
	fmt.Println(r.Err.Msg)
	fmt.Println(r.Err.Hint)
	// Output:
	// unknown_tool
	// there is no tool named "calculate"
	// use only the tools that are listed
}

// In Chinese, failures and notices are Chinese, too.
func ExampleSession_In() {
	ctx := context.Background()
	h, err := host.Open(ctx, host.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	r, err := h.Session("me", "conversation-1").In(tool.Zh).Call(ctx, tool.Call{Tool: "calculate"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Err.Msg)
	// Output: 没有名为 "calculate" 的工具
}

// The text for the model has a notice where something is left out.
func ExampleSession_Ingest_rendered() {
	ctx := context.Background()
	h, err := host.Open(ctx, host.Config{Settings: host.Settings{Defaults: tool.Limits{MaxChars: 1000}}})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	r, err := h.Session("me", "conversation-1").Ingest(ctx, tool.Call{Tool: "grep"}, []byte(strings.Repeat("an error\n", 5000)))
	if err != nil {
		log.Fatal(err)
	}
	text := limit.Render(r, tool.En)
	fmt.Println(len(text) <= 1000, strings.Contains(text, r.Ref.UUID))
	// Output: true true
}

// Progress of running calls, for a person who waits.
func ExampleSession_Reporting() {
	ctx := context.Background()
	h, err := host.Open(ctx, host.Config{Settings: host.Settings{Folders: []plugin.Folder{{Path: "plugins"}}}})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	s := h.Session("me", "conversation-1").Reporting(func(p host.Progress) {
		fmt.Printf("%s: %d of %d %s\n", p.Call.Tool, p.Done, p.Total, p.Msg)
	})
	if _, err := s.Call(ctx, tool.Call{Tool: "repo_map"}); err != nil {
		log.Fatal(err)
	}
}

// The limits change while the host runs; running calls finish under the old ones.
func ExampleHost_Apply() {
	ctx := context.Background()
	cfg := host.Config{Settings: host.Settings{Folders: []plugin.Folder{{Path: "plugins"}}}}
	h, err := host.Open(ctx, cfg)
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	settings := cfg.Settings
	settings.Defaults.MaxChars = 4000
	change, err := h.Apply(ctx, settings)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("changed plugins:", change.Changed)
}
