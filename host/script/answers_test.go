package script

import (
	"strings"
	"testing"

	"github.com/weirhost/weir/host/internal/scriptvm"
	"github.com/weirhost/weir/host/script/journal"
	"github.com/weirhost/weir/sdk/tool"
)

// card starts a script, and returns its id and card.
func card(t *testing.T, p *process, source string) (string, []Question) {
	t.Helper()
	id, err := p.Start(t.Context(), Script{Source: source, Scope: mine, CallID: "c"})
	if err != nil {
		t.Fatal(err)
	}
	return id, waits(t, p, id)
}

// waits returns the card of a script that waits.
func waits(t *testing.T, p *process, id string) []Question {
	t.Helper()
	s, err := p.Wait(t.Context(), "me", id, 0)
	if err != nil || s.State != journal.Waiting || len(s.Card) == 0 {
		t.Fatalf("it does not wait: %+v %v", s, err)
	}
	return s.Card
}

func decide(t *testing.T, p *process, id string, q Question, v Verdict) {
	t.Helper()
	v.Digest = q.Digest
	if err := p.Decide(t.Context(), "me", id, map[int]Verdict{q.Number: v}); err != nil {
		t.Fatal(err)
	}
}

// What a person allows is the tool that the person has seen: another one of the same name,
// or the same one with other code, is asked about again.
func TestAnswersAreForTheToolThatWasSeen(t *testing.T) {
	dir := t.TempDir()
	p := boot(t, dir, 0, Options{})
	defer p.close(t)
	p.identity("1")
	id, seen := card(t, p, "await tools.ask({n: 1}); await tools.ask({n: 2})")
	p.identity("2") // between the question and the answer
	decide(t, p, id, seen[0], Verdict{Allow: true, Later: true})
	asked := waits(t, p, id)
	if len(happened(t, dir)) != 0 || asked[0].Number != seen[0].Number || asked[0].Key() == seen[0].Key() {
		t.Errorf("another tool ran, or is asked about as the first: %+v, then %+v", seen, asked)
	}
	decide(t, p, id, seen[0], Verdict{Allow: true}) // of a person who has seen the first card
	if again := waits(t, p, id); len(happened(t, dir)) != 0 || again[0].Key() != asked[0].Key() {
		t.Errorf("an answer to the first card is one to the second: %+v", again)
	}
	decide(t, p, id, asked[0], Verdict{Allow: true, Later: true})
	if s, err := p.Wait(t.Context(), "me", id, 0); err != nil || s.State != journal.Done || len(happened(t, dir)) != 2 {
		t.Errorf("with an answer to all calls of the tool: %+v %v", s, err)
	}
}

// A script of a backup does nothing more: what it did after the backup is not in it.
func TestScriptsOfABackupEnd(t *testing.T) {
	dir := t.TempDir()
	p := boot(t, dir, 0, Options{})
	id, _ := card(t, p, "await tools.write({n: 1}); await tools.ask({n: 2}); await tools.write({n: 3})")
	p.close(t)
	p = boot(t, dir, 0, Options{})
	defer p.close(t)
	if err := journal.MarkRestored(t.Context(), p.db); err != nil {
		t.Fatal(err)
	}
	if err := p.Recover(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	s, err := p.Wait(t.Context(), "me", id, 0)
	if err != nil || s.State != journal.Cancelled || s.Outcome.Result.Err == nil || !strings.Contains(s.Outcome.Result.Err.Error(), "backup") || len(s.Calls) != 2 {
		t.Errorf("%+v %v", s, err)
	}
	if done := happened(t, dir); len(done) != 1 {
		t.Errorf("it did %v", done)
	}
}

// "Always" is for the tool that the person has seen, too.
func TestAlwaysEndsWithTheTool(t *testing.T) {
	dir := t.TempDir()
	p := boot(t, dir, 0, Options{})
	defer p.close(t)
	p.identity("1")
	id, seen := card(t, p, "await Promise.all([tools.write({n: 1, asks: true}), tools.ask({n: 1})]); await tools.ask({n: 2})")
	for _, q := range seen {
		if q.Tool == "ask" {
			decide(t, p, id, q, Verdict{Allow: true, Later: true})
		}
	}
	write := waits(t, p, id)
	p.identity("2")
	decide(t, p, id, write[0], Verdict{Allow: true})
	if q := waits(t, p, id); q[0].Tool != "write" { // seen with the first identity
		t.Errorf("it asks %+v", q)
	} else {
		decide(t, p, id, q[0], Verdict{Allow: true})
	}
	if q := waits(t, p, id); q[0].Tool != "ask" || happened(t, dir)[`ask{"n":2}`] != 0 {
		t.Errorf("an answer for all calls of a tool is one for another tool: %+v", q)
	}
}

// TestAdviceOfCalls: a call that was denied, or whose outcome is not known, has no mistake to
// correct: a model that reads "correct the line" makes the call again.
func TestAdviceOfCalls(t *testing.T) {
	x := (&Runner{}).newRun(Script{Source: "\nawait tools.put({})"})
	for code, want := range map[tool.Code]string{tool.OutcomeUnknown: "the call is in line 2, column 7", tool.Denied: "the call is in line 2", tool.BadArgs: "correct line 2, column 7", "": "correct line 2"} {
		if got := x.advice(scriptvm.Fault{Code: string(code), Line: 2, Column: 7}).String(); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", code, got)
		}
	}
}
