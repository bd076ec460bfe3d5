// Package modeltest is what the tests of the clients of model servers have in
// common: a question, all of its answer, servers that say one thing, and the laws
// that hold for every protocol.
package modeltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/sdk/tool"
)

// A Reply is everything one Generate gave.
type Reply struct {
	Text, Reasoning string
	Calls           []tool.Call
	Usage           *agent.Usage
	Finish          agent.Finish
	Sealed          string
	Deltas          int
}

// Ask collects a reply up to its end or its error.
func Ask(ctx context.Context, m agent.Model, r agent.Request) (Reply, error) {
	var out Reply
	for d, err := range m.Generate(ctx, r) {
		if err != nil {
			return out, err
		}
		out.Deltas++
		out.Text += d.Text
		out.Reasoning += d.Reasoning
		if d.Call != nil {
			out.Calls = append(out.Calls, *d.Call)
		}
		if d.Usage != nil {
			out.Usage = d.Usage
		}
		out.Sealed += string(d.Sealed)
		out.Finish = d.Finish
	}
	return out, nil
}

// Hello is a question.
func Hello() agent.Request {
	return agent.Request{Messages: []agent.ChatMessage{{Role: "user", Text: "hello"}}}
}

// Call is a call with these arguments, which need not be JSON.
func Call(id, name, args string) tool.Call {
	return tool.Call{ID: id, Tool: name, Args: json.RawMessage(args)}
}

// Say answers 200 with a body of that content type.
func Say(kind, body string) http.HandlerFunc { return Fail(http.StatusOK, body, "Content-Type", kind) }

// SSE answers with body as an event stream.
func SSE(body string) http.HandlerFunc { return Say("text/event-stream; charset=utf-8", body) }

// Fail answers with that status and body, and with headers, each a name and a value.
func Fail(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body) // a client may be gone
	}
}

// Free returns an address of this machine on which no server listens.
func Free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Canned is a connection on which every question has this event stream for an
// answer, and nothing else is found.
type Canned string

// RoundTrip implements http.RoundTripper.
func (c Canned) RoundTrip(r *http.Request) (*http.Response, error) {
	status := http.StatusOK
	if r.Method == http.MethodGet {
		status = http.StatusNotFound
	}
	return &http.Response{
		StatusCode: status, Request: r, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(strings.NewReader(string(c))),
	}, nil
}

// A clock is a toolbox with one tool, which counts its calls.
type clock struct{ calls int }

func (*clock) Tools() []tool.Spec {
	return []tool.Spec{{Name: "clock", Description: "Time", Params: json.RawMessage(`{"type":"object","properties":{"zone":{"type":"string"},"at":{"type":"string"}}}`)}}
}

func (c *clock) Call(context.Context, tool.Call) (tool.Result, error) {
	c.calls++
	return tool.Result{Shown: tool.View{Text: "noon"}}, nil
}

// ToolsStay holds a model to the law that its server gets the same list of tools, byte
// for byte, with every request of a conversation: also with those that end a turn early,
// and where the server calls all the same. connect makes a model that asks a server;
// call answers with one call of a tool named clock, text with a word.
func ToolsStay(t *testing.T, connect func(http.HandlerFunc) agent.Model, call, text http.HandlerFunc) {
	t.Helper()
	var lists []string
	replies := []http.HandlerFunc{
		call, call, call, // the turn ends at the second, and does not listen to the third
		call, call, text, // the server listens the second time it is asked
		text, call, text,
	}
	m := connect(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet { // what it knows about the model
			http.NotFound(w, r)
			return
		}
		var body struct{ Tools json.RawMessage }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		if lists = append(lists, string(body.Tools)); len(lists) > len(replies) {
			t.Error("the server is asked without end")
			text(w, r)
			return
		}
		replies[len(lists)-1](w, r)
	})
	box := &clock{}
	cfg := agent.Defaults()
	cfg.Mode, cfg.MaxToolCalls = agent.ModeNative, 1
	loop, err := agent.New(cfg, m, box, nil)
	if err != nil {
		t.Fatal(err)
	}
	var turn agent.Turn
	for i, want := range []struct {
		asked, calls int
		answers      bool
		reason       agent.Reason
	}{{3, 1, false, agent.ReasonMaxCalls}, {6, 2, true, agent.ReasonMaxCalls}, {7, 2, true, agent.ReasonAnswer}, {9, 3, true, agent.ReasonMaxCalls}} {
		if turn, err = loop.Run(t.Context(), turn.Messages, "what time is it?"); err != nil {
			t.Fatal(err)
		}
		if len(lists) != want.asked || box.calls != want.calls || (turn.Answer != "") != want.answers || turn.Reason != want.reason {
			t.Errorf("turn %d: after %d requests and %d calls, %q: %s", i+1, len(lists), box.calls, turn.Answer, turn.Reason)
		}
	}
	for i, list := range lists {
		if list != lists[0] || len(list) < 50 {
			t.Errorf("request %d has the tools %s, the first had %s", i+1, list, lists[0])
		}
	}
}

// Ends holds a model to the law that whatever a server sends, the sequence ends
// with exactly one of an error and a finish, and no call comes before the finish
// is sure.
func Ends(t *testing.T, m agent.Model) {
	t.Helper()
	got, err := Ask(t.Context(), m, Hello())
	if (err == nil) != (got.Finish != "") {
		t.Errorf("error %v with finish %q", err, got.Finish)
	}
	if err != nil && len(got.Calls) > 0 {
		t.Errorf("calls %v of a reply that failed: %v", got.Calls, err)
	}
}

// Hides holds a model to the law that a question fails with an error that shows
// none of the secrets, however it is printed.
func Hides(t *testing.T, m agent.Model, secrets ...string) {
	t.Helper()
	_, err := Ask(t.Context(), m, Hello())
	if err == nil {
		t.Fatal("no error")
	}
	for e := err; e != nil; e = errors.Unwrap(e) {
		all := fmt.Sprintf("%v %+v %#v %s", e, e, e, m)
		for _, s := range secrets {
			if strings.Contains(all, s) {
				t.Errorf("the key shows: %s", all)
			}
		}
	}
}
