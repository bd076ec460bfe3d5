package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/plugin"
)

// newAskingBench has a tool that writes to a folder, which must be asked about.
func newAskingBench(t *testing.T) (b *bench, folder string) {
	folder = t.TempDir()
	b = newBench(t, func(c *host.Config, _ *Config) {
		place(t, c.Folders[0].Path, filepath.Join("..", "..", "testdata", "plugins", "pen"))
		c.Grants = map[string]plugin.Grant{"pen": {Paths: []plugin.PathGrant{{Guest: "/workspace", Host: folder, Mode: "rw"}}}}
	})
	return b, folder
}

const note = `{"path":"a.txt","text":"hello"}`

// Without anybody to ask, the call does not run, and says so in words.
func TestNobodyToAsk(t *testing.T) {
	b, folder := newAskingBench(t)
	everyWay(t, b, nil, func(b *bench, s *mcp.ClientSession) {
		r := b.call(s, "write_note", note)
		if !r.IsError || !strings.Contains(textOf(r), "denied") {
			b.Errorf("%s", textOf(r))
		}
		if _, err := os.Stat(filepath.Join(folder, "a.txt")); err == nil {
			b.Error("the note was written")
		}
	})
}

func TestPersonIsAsked(t *testing.T) {
	all, folder := newAskingBench(t)
	for _, row := range []struct {
		answer  string
		action  string
		written bool
		asks    int32 // for two calls
	}{
		{"once", "accept", true, 2},
		{"always", "accept", true, 1},
		{"deny", "accept", false, 2},
		{"", "decline", false, 2},
		{"", "cancel", false, 2},
	} {
		for _, w := range ways {
			t.Run(row.answer+row.action+" "+w.name, func(t *testing.T) {
				b := &bench{T: t, host: all.host, server: all.server, url: all.url}
				b.host.Forget("me", Conversation+"me")
				_ = os.Remove(filepath.Join(folder, "a.txt"))
				told := len(all.told())
				var asked atomic.Int32
				var question atomic.Value
				s := w.join(b, &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					asked.Add(1)
					question.Store(r.Params.Message)
					out := &mcp.ElicitResult{Action: row.action}
					if row.answer != "" {
						out.Content = map[string]any{"answer": row.answer}
					}
					return out, nil
				}})
				for range 2 {
					if r := b.call(s, "write_note", note); r.IsError == row.written {
						t.Errorf("%s", textOf(r))
					}
				}
				if _, err := os.Stat(filepath.Join(folder, "a.txt")); (err == nil) != row.written {
					t.Errorf("written: %v", err)
				}
				if asked.Load() != row.asks {
					t.Errorf("the person was asked %d times", asked.Load())
				}
				if q, _ := question.Load().(string); !strings.Contains(q, "write_note") || !strings.Contains(q, "hello") || !strings.Contains(q, "/workspace") {
					t.Errorf("the question was %q", q)
				}
				// A call that asked counts once, by its outcome.
				if n := len(all.told()) - told; n != 2 {
					t.Errorf("%d calls were told", n)
				}
			})
		}
	}
}

// While a person thinks, the client that wants to know how a call gets on hears again and again
// that it waits: it would give the call up. A client without a progress token hears nothing.
func TestWaitingForAPersonIsProgress(t *testing.T) {
	all, _ := newAskingBench(t)
	all.server.saysEvery = time.Millisecond
	for _, w := range ways[:3] {
		if w.name == "http" { // its client asks between two calls
			continue
		}
		for _, token := range []any{"tell me", nil} {
			t.Run(fmt.Sprintf("%s %v", w.name, token), func(t *testing.T) {
				b := &bench{T: t, host: all.host, server: all.server, url: all.url}
				b.host.Forget("me", Conversation+"me")
				seen := make(chan mcp.ProgressNotificationParams, 10_000)
				s := w.join(b, &mcp.ClientOptions{
					ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { seen <- *r.Params },
					ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
						for last := 0.0; token != nil && last < 3*aliveStep; {
							p := <-seen
							if p.Message == "running" { // before it waited
								continue
							}
							if p.Progress <= last || p.ProgressToken != token || p.Total != 0 || p.Message != "waiting for a person's answer" {
								t.Errorf("after %v: %+v", last, p)
							}
							last = p.Progress
						}
						return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": "once"}}, nil
					},
				})
				p := &mcp.CallToolParams{Name: "write_note", Arguments: json.RawMessage(note)}
				if token != nil {
					p.SetProgressToken(token)
				}
				if r, err := s.CallTool(t.Context(), p); err != nil || r.IsError {
					t.Errorf("%+v, %v", r, err)
				}
				if token == nil && len(seen) > 0 {
					t.Errorf("without a token: %+v", <-seen)
				}
			})
		}
	}
}

// What is said while the tool says nothing is less than one of its steps, and is not said right
// after one.
func TestProgressBetweenReports(t *testing.T) {
	var got []float64
	p := reporter{send: func(x mcp.ProgressNotificationParams) { got = append(got, x.Progress) }}
	p.alive()
	p.alive()
	p.report(host.Progress{Done: 1, Total: 2})
	p.alive() // too soon
	p.alive()
	p.report(host.Progress{Done: 2, Total: 2})
	if want := []float64{aliveStep, 2 * aliveStep, 1, 1 + aliveStep, 2}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// An answer holds for the call that it was given to, and for no other.
func TestAnswerForAnotherCall(t *testing.T) {
	b, folder := newAskingBench(t)
	s := b.http(&mcp.ClientOptions{
		MultiRoundTrip:     &mcp.MultiRoundTripOptions{Disabled: true},
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) { return nil, nil },
	}, "", "me")
	r := b.call(s, "write_note", note)
	if !r.NeedsInput() || len(r.InputRequests) != 1 {
		t.Fatalf("%+v", r)
	}
	yes := mcp.InputResponseMap{}
	for key := range r.InputRequests {
		yes[key] = &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": "once"}}
	}
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "write_note", InputResponses: yes,
		Arguments: map[string]any{"path": "b.txt", "text": "other"}})
	if err != nil || !r.NeedsInput() {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := os.Stat(filepath.Join(folder, "b.txt")); err == nil {
		t.Error("a yes to one call let another run")
	}
	r, err = s.CallTool(t.Context(), &mcp.CallToolParams{Name: "write_note", InputResponses: yes,
		Arguments: map[string]any{"path": "a.txt", "text": "hello"}})
	if err != nil || r.IsError || r.NeedsInput() {
		t.Errorf("%+v, %v", r, err)
	}
}
