package daemon

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

// Whatever answers, ends or stops at the same moment: whoever waits and whoever
// answers are told the same.
func TestBrokerRaces(t *testing.T) {
	for range 100 {
		b := newBroker()
		p, ok := b.open(request("me"), time.Now())
		if !ok {
			t.Fatal("not opened")
		}
		ctx, cancel := context.WithCancel(context.Background())
		var given [2]*api.Problem
		var got approval.Answer
		var err error
		var wg sync.WaitGroup
		for i := range given {
			wg.Go(func() {
				given[i] = b.give("me", p.ID, approval.Answer{Verdict: approval.Once, By: string(rune('a' + i))})
			})
		}
		wg.Go(cancel)
		wg.Go(func() { b.stop() })
		wg.Go(func() { got, err = b.wait(ctx, p, func() {}) })
		wg.Wait()
		taken := 0
		for i, problem := range given {
			switch {
			case problem == nil:
				taken++
				if err != nil || got.By != string(rune('a'+i)) {
					t.Fatalf("an answer was taken and did not count: %+v, %v", got, err)
				}
			case problem.Status != 409:
				t.Fatalf("status %d", problem.Status)
			}
		}
		if taken > 1 || taken == 0 && err == nil {
			t.Fatalf("%d answers were taken: %+v, %v", taken, got, err)
		}
		if n := len(b.list("me")); n != 0 {
			t.Fatalf("%d requests are left", n)
		}
	}
}

func TestBrokerBelongsToItsPrincipal(t *testing.T) {
	b := newBroker()
	p, _ := b.open(request("me"), time.Now())
	if len(b.list("you")) != 0 || len(b.list("me")) != 1 {
		t.Error("listed to others")
	}
	if _, ok := b.find("you", p.ID); ok {
		t.Error("shown to others")
	}
	foreign, missing := b.give("you", p.ID, approval.Answer{Verdict: approval.Once}), b.give("you", "no-such-id", approval.Answer{})
	if foreign == nil || missing == nil || !reflect.DeepEqual(foreign, missing) || foreign.Status != 404 {
		t.Errorf("a foreign request answers %v, a missing one %v", foreign, missing)
	}
	if b.give("me", p.ID, approval.Answer{}) != nil {
		t.Error("its own principal may not answer")
	}
	over := b.give("you", p.ID, approval.Answer{})
	if over == nil || !reflect.DeepEqual(over, missing) {
		t.Errorf("a foreign request that is over answers %v", over)
	}
}

func TestBrokerIsBounded(t *testing.T) {
	b := newBroker()
	var all []*pending
	for range maxPendingOf {
		p, ok := b.open(request("me"), time.Now())
		if !ok {
			t.Fatal("refused too early")
		}
		all = append(all, p)
	}
	if _, ok := b.open(request("me"), time.Now()); ok {
		t.Error("there is no bound")
	}
	if _, ok := b.open(request("you"), time.Now()); !ok {
		t.Error("one takes the room of all")
	}
	b.give("me", all[0].ID, approval.Answer{})
	if _, ok := b.open(request("me"), time.Now()); !ok {
		t.Error("a settled request keeps its place")
	}
	open := len(b.pending)
	for i := range maxPending {
		if _, ok := b.open(request(fmt.Sprint("user ", i)), time.Now()); ok != (open+i < maxPending) {
			t.Fatalf("%d wait and one more is taken: %v", open+i, ok)
		}
	}
	b = newBroker()
	for range maxOver + 5 {
		p, _ := b.open(request("me"), time.Now())
		b.give("me", p.ID, approval.Answer{})
	}
	if len(b.over) != maxOver {
		t.Errorf("%d are remembered", len(b.over))
	}
	b.stop()
	b.stop()
	if _, ok := b.open(request("me"), time.Now()); ok {
		t.Error("a stopped broker takes requests")
	}
}

// While somebody waits their stream hears of it, and a stop ends the wait.
func TestBrokerStillWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		p, _ := b.open(request("me"), time.Now())
		n := 0
		time.AfterFunc(4*stillWaiting+time.Second, b.stop)
		_, err := b.wait(t.Context(), p, func() { n++ })
		if !errors.Is(err, approval.ErrNoPerson) || n != 4 {
			t.Errorf("%v after %d", err, n)
		}
	})
}

// A person reads all of the arguments, what hides in them too, and long ones
// from both ends.
func TestArgumentsForPeople(t *testing.T) {
	got := display(json.RawMessage("{\"b\":\"<a>\\u001b[2J\u202egpj.exe\",\"a\":[1,2.50,\"\\n\"]}"))
	want := "{\n  \"a\": [\n    1,\n    2.50,\n    \"\\n\"\n  ],\n  \"b\": \"<a>\\u001b[2J\\u202egpj.exe\"\n}"
	if got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if s := display(json.RawMessage("broken \x1b")); s != `broken \u001b` {
		t.Errorf("%q", s)
	}
	long := "begin" + strings.Repeat("长", shownArgs) + "end"
	shown, out := middleOut(long)
	if out != 8 || !strings.HasPrefix(shown, "begin") || !strings.HasSuffix(shown, "end") || utf8.RuneCountInString(shown) != shownArgs+len("\n[…]\n")-2 {
		t.Errorf("%d left out of %d: %d", out, utf8.RuneCountInString(long), utf8.RuneCountInString(shown))
	}
	if s, out := middleOut("short"); s != "short" || out != 0 {
		t.Error("a short text was cut")
	}
}
