package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weirhost/weir/agent"
)

// The targets are counts, so that they hold on every machine.
func TestTargets(t *testing.T) {
	var out bytes.Buffer
	if ok, err := run(t.Context(), &out); err != nil || !ok {
		t.Fatalf("ok %v, error %v\n%s", ok, err, &out)
	}
	for _, want := range []string{"English", "中文", "everything kept", "limits only", "ok  "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, &out)
		}
	}
	if n := strings.Count(out.String(), "30 of 30"); n != len(ways)*len(languages) {
		t.Errorf("facts are reached in %d ways, not %d:\n%s", n, len(ways)*len(languages), &out)
	}
}

// Two runs count the same, so that a change in the table is one in the code.
func TestRunsAreAlike(t *testing.T) {
	v := variant{name: "placeholders", limits: true, folds: true, reload: aPart}
	s := newSession(languages[0])
	first, err := s.play(t.Context(), v)
	second, err2 := s.play(t.Context(), v)
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	if a, b := first.bill, second.bill; a.tokens != b.tokens || a.read != b.read || !slices.Equal(a.turns, b.turns) {
		t.Errorf("one run sent %v tokens, %d from the cache, the next %v and %d", a.turns, a.read, b.turns, b.read)
	}
}

// The chapters are what the tables say they are.
func TestSession(t *testing.T) {
	for _, l := range languages {
		s := newSession(l)
		if len(s.chapters) != turns || len(s.facts) != turns*len(positions) {
			t.Fatalf("%s: %d chapters, %d facts", l.name, len(s.chapters), len(s.facts))
		}
		for p, text := range s.chapters {
			if n := utf8.RuneCountInString(text); n != resultChars {
				t.Errorf("%s %s has %d characters", l.name, p, n)
			}
		}
		all := ""
		for turn := range turns {
			all += s.chapters[path(turn+1)]
		}
		for _, f := range s.facts {
			line := strings.Split(s.chapters[f.path], "\n")[f.line-1]
			value, ok := l.read(f, line)
			if !ok || value != fmt.Sprint(f.value) || !strings.HasPrefix(line, l.sentence(f)) {
				t.Errorf("%s %s: line %d is %q", l.name, f.gauge, f.line, line)
			}
			if n := strings.Count(all, f.gauge); n != 1 {
				t.Errorf("%s %s stands %d times", l.name, f.gauge, n)
			}
		}
		if other := newSession(l); fmt.Sprint(other.chapters) != fmt.Sprint(s.chapters) {
			t.Errorf("%s: two sessions differ", l.name)
		}
	}
}

func request(system string, texts ...string) agent.Request {
	r := agent.Request{System: system}
	for _, t := range texts {
		r.Messages = append(r.Messages, agent.ChatMessage{Role: "user", Text: t})
	}
	return r
}

func TestBill(t *testing.T) {
	word := strings.Repeat("word ", 100)
	tokens := func(s string) int { return new(agent.Estimator).Tokens(s) }
	for _, row := range []struct {
		why       string
		requests  []agent.Request
		read, all int
	}{
		{"the first request is in no cache", []agent.Request{request(word)}, 0, tokens(word)},
		{"the same again is read whole", []agent.Request{request(word, "a"), request(word, "a")}, tokens(word) + tokens("user\na"), 2 * (tokens(word) + tokens("user\na"))},
		{"what is appended is written", []agent.Request{request(word), request(word, "a")}, tokens(word), 2*tokens(word) + tokens("user\na")},
		{"behind a change nothing is read", []agent.Request{request("x", word), request("y", word)}, 0, 2 * (tokens("x") + tokens("user\n"+word))},
		{"up to a change within a message it is", []agent.Request{request(word + "x"), request(word + "y")}, tokens(word), tokens(word+"x") + tokens(word+"y")},
		{"a change of Chinese characters is not cut within one", []agent.Request{request("水的"), request("水白")}, tokens("水"), tokens("水的") + tokens("水白")},
	} {
		var b bill
		b.add(row.requests)
		if b.read != row.read || b.tokens != row.all || b.requests != len(row.requests) || len(b.turns) != 1 || b.turns[0] != row.all {
			t.Errorf("%s: %d of %d tokens, want %d of %d", row.why, b.read, b.tokens, row.read, row.all)
		}
	}
	b := bill{tokens: 1_000_000, read: 1_000_000}
	if got := b.dollars(); got != price*cacheRead {
		t.Errorf("a million from the cache costs %v", got)
	}
	b.read = 0
	if got := b.dollars(); got != price*cacheWrite {
		t.Errorf("a million into the cache costs %v", got)
	}
}

// Ids are random; counted they are not.
func TestIdsAreCountedAlike(t *testing.T) {
	var a, b bill
	a.add([]agent.Request{request("", "📎 01a1fbfe-0e2e-7d3a-8f6f-f757848ffb2f and 01a1fbfe-0e2e-7d3a-8f6f-f757848ffb30")})
	b.add([]agent.Request{request("", "📎 01bbbbbb-1111-7111-8111-111111111111 and 01bbbbbb-2222-7222-8222-222222222222")})
	if a.tokens != b.tokens {
		t.Errorf("%d and %d tokens", a.tokens, b.tokens)
	}
}

// A target that is missed is called short, and the command fails.
func TestShort(t *testing.T) {
	full, half := &bill{tokens: 100, turns: make([]int, turns)}, &bill{tokens: 50, turns: make([]int, turns)}
	m := measured{plays: []played{{name: "everything kept", bill: full}, {name: "placeholders", bill: half, target: true}}, facts: 2,
		finds: []found{{way: "by luck", byCalls: [mostCalls + 1]int{0, 1, 0}}}}
	var out bytes.Buffer
	if m.print(&out) || strings.Count(out.String(), "short") != 2 {
		t.Errorf("two targets are missed:\n%s", &out)
	}
	m.plays[1].bill.tokens, m.finds[0].byCalls[2] = 20, 1
	out.Reset()
	if !m.print(&out) || strings.Contains(out.String(), "short") {
		t.Errorf("both targets are met:\n%s", &out)
	}
	m.facts, m.finds[0] = 0, found{way: "of nothing"}
	if m.print(&out) {
		t.Error("facts that do not exist are not reached")
	}
}
