package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon"
	"github.com/weirhost/weir/host/internal/term"
)

// A turn without an answer is the model's failure, with --json one value only.
func TestSilentModelExits(t *testing.T) {
	var out, errs bytes.Buffer
	c := newCLI(term.Env{Out: &out, Err: &errs})
	p := &printer{c: c, end: &daemon.ChatEnd{Reason: agent.ReasonNoAnswer}}
	if code := c.report(t.Context(), p.outcome(nil)); code != exitModel {
		t.Errorf("exit %d: %s", code, errs.String())
	}
	c.JSON = true
	var code exitError
	if err := p.outcome(nil); !errors.As(err, &code) || int(code) != exitModel {
		t.Errorf("with --json: %v", err)
	}
	if out.Len() > 0 {
		t.Errorf("a second value on stdout: %s", out.String())
	}
}

// A turn that could not be saved is an answer all the same, and says so.
func TestUnsavedTurnIsTold(t *testing.T) {
	var out, errs bytes.Buffer
	c := newCLI(term.Env{Out: &out, Err: &errs})
	for _, quiet := range []bool{false, true} {
		errs.Reset()
		p := &printer{c: c, quiet: quiet, end: &daemon.ChatEnd{Reason: agent.ReasonAnswer, Answer: "yes", Unsaved: true}}
		if code := c.report(t.Context(), p.outcome(nil)); code != 0 || !strings.Contains(errs.String(), "could not be saved") {
			t.Errorf("quiet %v: exit %d: %q", quiet, code, errs.String())
		}
	}
}
