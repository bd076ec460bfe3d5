package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/internal/chat"
	"github.com/weirhost/weir/host/internal/term"
)

// A turn without an answer is the model's failure, with --json one value only.
func TestSilentModelExits(t *testing.T) {
	var out, errs bytes.Buffer
	c := newCLI(term.Env{Out: &out, Err: &errs})
	var p *chat.Turn
	for _, reason := range []agent.Reason{agent.ReasonMalformed, agent.ReasonMaxCalls, agent.ReasonRepeated, agent.ReasonLength, agent.ReasonNoAnswer} {
		p = &chat.Turn{Printer: c.Printer, End: &api.ChatEnd{Reason: reason}, Problem: api.NoAnswer(reason, false)}
		if code := c.report(t.Context(), p.Outcome(nil)); code != term.ExitModel || strings.Contains(errs.String(), "ended:") {
			t.Errorf("%s: exit %d: %s", reason, code, errs.String())
		}
	}
	c.JSON = true
	var code term.ExitError
	if err := p.Outcome(nil); !errors.As(err, &code) || int(code) != term.ExitModel {
		t.Errorf("with --json: %v", err)
	}
	if out.Len() > 0 {
		t.Errorf("a second value on stdout: %s", out.String())
	}
}

// A turn that could not be saved still has an answer, and a warning.
func TestUnsavedTurnIsReported(t *testing.T) {
	var out, errs bytes.Buffer
	c := newCLI(term.Env{Out: &out, Err: &errs})
	for _, quiet := range []bool{false, true} {
		errs.Reset()
		p := &chat.Turn{Printer: c.Printer, Quiet: quiet, End: &api.ChatEnd{Reason: agent.ReasonAnswer, Answer: "yes", Unsaved: true}}
		if code := c.report(t.Context(), p.Outcome(nil)); code != 0 || !strings.Contains(errs.String(), "could not be saved") {
			t.Errorf("quiet %v: exit %d: %q", quiet, code, errs.String())
		}
	}
}
