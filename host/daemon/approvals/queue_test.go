package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/daemon/api"
)

func request(principal string) approval.Request {
	return approval.Request{Principal: principal, Conversation: "c", Tool: "write_note", Args: json.RawMessage(`{"path":"a"}`)}
}

// statusOf returns the status of a problem, 0 of another error.
func statusOf(err error) int {
	if p, ok := errors.AsType[*api.Problem](err); ok {
		return p.Status
	}
	return 0
}

func list(t *testing.T, q *Queue, principal string) []api.Approval {
	t.Helper()
	out, err := q.List(t.Context(), principal)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Answers, the end of the wait and Close at the same moment: the caller that waits and the
// callers that answer agree on the outcome.
func TestQueueRaces(t *testing.T) {
	for range 100 {
		q := NewQueue()
		p, err := q.Add(t.Context(), request("me"), 1, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		var given [2]error
		var got approval.Answer
		var wg sync.WaitGroup
		for i := range given {
			wg.Go(func() {
				given[i] = q.Answer(t.Context(), "me", p.ID, approval.Answer{Verdict: approval.Once, By: string(rune('a' + i))})
			})
		}
		wg.Go(cancel)
		wg.Go(func() { q.Close() })
		wg.Go(func() { got, err = q.Wait(ctx, p, func() {}) })
		wg.Wait()
		taken := 0
		for i, problem := range given {
			switch {
			case problem == nil:
				taken++
				if err != nil || got.By != string(rune('a'+i)) {
					t.Fatalf("an answer was taken and did not count: %+v, %v", got, err)
				}
			case statusOf(problem) != 409:
				t.Fatal(problem)
			}
		}
		if taken > 1 || taken == 0 && err == nil {
			t.Fatalf("%d answers were taken: %+v, %v", taken, got, err)
		}
		if list, err := q.List(t.Context(), "me"); len(list) != 0 || err != nil {
			t.Fatalf("%d requests are left, %v", len(list), err)
		}
	}
}

func TestQueueKeepsPrincipalsApart(t *testing.T) {
	q := NewQueue()
	p, _ := q.Add(t.Context(), request("me"), 1, time.Now())
	if len(list(t, q, "you")) != 0 || len(list(t, q, "me")) != 1 {
		t.Error("listed to others")
	}
	if _, err := q.Find(t.Context(), "you", p.ID); statusOf(err) != 404 {
		t.Error("shown to others")
	}
	foreign, missing := q.Answer(t.Context(), "you", p.ID, approval.Answer{Verdict: approval.Once}), q.Answer(t.Context(), "you", "no-such-id", approval.Answer{})
	if foreign == nil || missing == nil || !reflect.DeepEqual(foreign, missing) || statusOf(foreign) != 404 {
		t.Errorf("a foreign request answers %v, a missing one %v", foreign, missing)
	}
	if q.Answer(t.Context(), "me", p.ID, approval.Answer{}) != nil {
		t.Error("its own principal may not answer")
	}
	over := q.Answer(t.Context(), "you", p.ID, approval.Answer{})
	if over == nil || !reflect.DeepEqual(over, missing) {
		t.Errorf("a foreign request that is over answers %v", over)
	}
}

func TestQueueIsBounded(t *testing.T) {
	q := NewQueue()
	var all []*Request
	for range maxPendingPerPrincipal {
		p, err := q.Add(t.Context(), request("me"), 1, time.Now())
		if err != nil {
			t.Fatal("refused too early")
		}
		all = append(all, p)
	}
	if _, err := q.Add(t.Context(), request("me"), 1, time.Now()); err == nil {
		t.Error("there is no bound")
	}
	if _, err := q.Add(t.Context(), request("you"), 1, time.Now()); err != nil {
		t.Error("one principal fills the queue")
	}
	q.Answer(t.Context(), "me", all[0].ID, approval.Answer{})
	if _, err := q.Add(t.Context(), request("me"), 1, time.Now()); err != nil {
		t.Error("a closed request still counts as pending")
	}
	open := len(q.store.(*memory).pending)
	for i := range maxPending {
		if _, err := q.Add(t.Context(), request(fmt.Sprint("user ", i)), 1, time.Now()); (err == nil) != (open+i < maxPending) {
			t.Fatalf("%d wait and one more is taken: %v", open+i, err == nil)
		}
	}
	q = NewQueue()
	for range maxClosed + 5 {
		p, _ := q.Add(t.Context(), request("me"), 1, time.Now())
		q.Answer(t.Context(), "me", p.ID, approval.Answer{})
	}
	if n := len(q.store.(*memory).closed); n != maxClosed {
		t.Errorf("%d are remembered", n)
	}
	q.Close()
	q.Close()
	if _, err := q.Add(t.Context(), request("me"), 1, time.Now()); err == nil {
		t.Error("a closed queue accepts requests")
	}
}

// The answer to a request for calls of a script may name some of them, and no others.
func TestAnswerToSomeCalls(t *testing.T) {
	r := request("me")
	r.Calls = []approval.ScriptCall{{Number: 2, Tool: "a\u202e", Args: json.RawMessage(`{"text":"x"}`), From: map[string]string{"text": "read\u202e"}}, {Number: 4, Tool: "b", Args: json.RawMessage(`{}`)}}
	q := NewQueue()
	p, _ := q.Add(t.Context(), r, 1, time.Now())
	if c := p.Calls[0]; c.Tool != `a\u202e` || c.From["text"] != `read\u202e` || c.Args != "{\n  \"text\": \"x\"\n}" {
		t.Errorf("%+v", c)
	}
	if problem := q.Answer(t.Context(), "me", p.ID, approval.Answer{Verdict: approval.Once, Only: []int{2, 3}}); statusOf(problem) != 400 {
		t.Errorf("%+v", problem)
	}
	if problem := q.Answer(t.Context(), "me", p.ID, approval.Answer{Verdict: approval.Once, Only: []int{4}}); problem != nil {
		t.Error(problem)
	}
	a, err := q.Wait(t.Context(), p, func() {})
	if err != nil || a.Allows(2) || !a.Allows(4) {
		t.Errorf("%+v, %v", a, err)
	}
}

// In a stream and in a list, the calls of a long card are shortened together; alone, the
// card is whole.
func TestLongCard(t *testing.T) {
	r := request("me")
	long, err := json.Marshal(map[string]string{"text": strings.Repeat("x", shownArgs)})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		r.Calls = append(r.Calls, approval.ScriptCall{Number: i + 1, Tool: "a", Args: long})
	}
	r.Script, r.Args = "return 1", long
	q := NewQueue()
	p, _ := q.Add(t.Context(), r, 1, time.Now())
	length := 0
	for _, c := range list(t, q, "me")[0].Calls {
		if length += len(c.Args); c.LeftOut == 0 {
			t.Error("a call does not say what is left out")
		}
	}
	if length > 2*shownArgs {
		t.Errorf("%d characters", length)
	}
	whole, err := q.Find(t.Context(), "me", p.ID)
	if err != nil || len(whole.Calls) != 20 || whole.Calls[19].LeftOut != 0 || len(whole.Calls[19].Args) < len(long) || whole.LeftOut != 0 {
		t.Errorf("%+v", whole)
	}
}

// Wait calls its function regularly, and Close ends it.
func TestWaitReportsThatItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue()
		p, _ := q.Add(t.Context(), request("me"), 1, time.Now())
		n := 0
		time.AfterFunc(4*waitingInterval+time.Second, q.Close)
		_, err := q.Wait(t.Context(), p, func() { n++ })
		if !errors.Is(err, approval.ErrNoPerson) || n != 4 {
			t.Errorf("%v after %d", err, n)
		}
	})
}

// A person sees all of the arguments, also invisible characters, and of long ones both
// ends.
func TestFormatArguments(t *testing.T) {
	got := indent(json.RawMessage("{\"b\":\"<a>\\u001b[2J\u202egpj.exe\",\"a\":[1,2.50,\"\\n\"]}"))
	want := "{\n  \"a\": [\n    1,\n    2.50,\n    \"\\n\"\n  ],\n  \"b\": \"<a>\\u001b[2J\\u202egpj.exe\"\n}"
	if got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if s := indent(json.RawMessage("broken \x1b")); s != `broken \u001b` {
		t.Errorf("%q", s)
	}
	long := "begin" + strings.Repeat("长", shownArgs) + "end"
	shown, out := shorten(long, shownArgs)
	if out != 8 || !strings.HasPrefix(shown, "begin") || !strings.HasSuffix(shown, "end") || utf8.RuneCountInString(shown) != shownArgs+len("\n[…]\n")-2 {
		t.Errorf("%d left out of %d: %d", out, utf8.RuneCountInString(long), utf8.RuneCountInString(shown))
	}
	if s, out := shorten("short", shownArgs); s != "short" || out != 0 {
		t.Error("a short text was cut")
	}
}
