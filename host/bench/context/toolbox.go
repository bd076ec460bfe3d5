package main

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/sdk/tool"
)

const (
	readTool   = "read_chapter"
	loadTool   = tool.LoadHistory
	searchTool = tool.SearchHistory
)

// endless is more than anything here holds, in characters and in lines.
const endless = 1 << 20

// A toolbox is a real session of a real host with one tool beside its own: it
// gives a chapter, which goes the way of every result.
type toolbox struct {
	*host.Session
	chapters map[string]string
}

func (t toolbox) In(l tool.Locale) agent.Toolbox { return toolbox{t.Session.In(l), t.chapters} }

func (t toolbox) Tools() []tool.Spec {
	return append([]tool.Spec{{
		Name: readTool, Description: "Read a chapter of the manual.", DescriptionZh: "读取手册的一章。",
		Params: json.RawMessage(`{"type":"object","required":["path"],"properties":{"path":{"type":"string","description":"the chapter's path"}}}`),
		Hints:  tool.Hints{ReadOnly: true},
	}}, t.Session.Tools()...)
}

func (t toolbox) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	if c.Tool != readTool {
		return t.Session.Call(ctx, c)
	}
	var args struct{ Path string }
	if err := json.Unmarshal(c.Args, &args); err != nil || t.chapters[args.Path] == "" {
		return tool.Result{CallID: c.ID, Tool: c.Tool, Err: tool.Errorf(tool.BadArgs, "name a chapter", "there is no such chapter")}, nil
	}
	return t.Ingest(ctx, c, []byte(t.chapters[args.Path]))
}

// A clock shows the same times in every run: five minutes pass with each turn.
type clock struct{ turn atomic.Int64 }

func (c *clock) now() time.Time {
	return time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC).Add(time.Duration(c.turn.Load()) * 5 * time.Minute)
}

// openHost opens a host with its archive in a temporary file. Without limits
// every result is shown whole.
func openHost(ctx context.Context, limits bool, now func() time.Time) (*host.Host, error) {
	cfg := host.Config{Now: now}
	if !limits {
		cfg.Defaults, cfg.CeilingChars = tool.Limits{MaxChars: endless, MaxLines: endless}, endless
	}
	return host.Open(ctx, cfg)
}
