package sandbox

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/weirhost/weir/sdk/tool"
)

// maxPanicText is how much of a crashing guest's own words is passed on, in
// characters.
const maxPanicText = 200

// Hints say what a model can do next.
const (
	hintLess   = "ask for less at once, or narrow the arguments"
	hintOther  = "try other arguments; if it happens again, use another tool"
	hintReport = "use another tool; the plugin's author has to fix this"
)

// judge turns what is known after a call into its failure, or nil. The order
// matters: what the host did comes before what the guest says about it.
func (c *call) judge(e *env, r reply, err error) *tool.Error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case err != nil && c.over():
		return c.interrupted()
	case e.exited:
		return c.exit(e)
	case e.tooLarge:
		return tool.Errorf(tool.TooLarge, hintLess, "%s produced more than %s", c.inv.Export, tool.Bytes(c.inv.MaxOutput))
	case err != nil:
		return c.crash(e, err)
	case e.wrong != "":
		return c.said(e.wrong)
	case r.code != 0:
		return c.withWords(e, tool.Errorf(tool.Failed, hintOther, "%s reported failure %d without saying why", c.inv.Export, r.code))
	case e.lost && (len(r.output) == 0 || r.astray || len(r.output) != e.wanted):
		return c.outOfMemory("its output did not fit")
	case r.astray || len(r.output) != e.wanted:
		return tool.Errorf(tool.Trapped, hintReport, "%s set an output that does not exist", c.inv.Export)
	}
	return nil
}

func (c *call) interrupted() *tool.Error {
	return interrupted(c.inv, c.outer.Err(), c.expired(), c.closing())
}

// Interrupted is the failure of a call whose time ended: outer is what became of
// the caller's context, expired says that the call's own deadline has passed, and
// closing that the plugin is being closed.
func Interrupted(inv Invocation, outer error, expired, closing bool) *tool.Error {
	return interrupted(inv.withDefaults(), outer, expired, closing)
}

func interrupted(inv Invocation, outer error, expired, closing bool) *tool.Error {
	switch {
	case closing && outer == nil:
		return tool.Errorf(tool.Cancelled, "try again", "%s was ended because its plugin is being closed", inv.Export)
	case errors.Is(outer, context.Canceled):
		return tool.Errorf(tool.Cancelled, "", "%s was cancelled", inv.Export)
	case outer == nil && expired:
		return tool.Errorf(tool.TimedOut, hintLess, "%s did not finish within %s", inv.Export, inv.Timeout.Round(time.Millisecond))
	}
	return tool.Errorf(tool.TimedOut, hintLess, "%s did not finish in the time that was left", inv.Export)
}

// exit is the end of a guest that ended itself. Exit code 0 is no success:
// nothing after it ran, and there is no output to trust.
func (c *call) exit(e *env) *tool.Error {
	return c.withWords(e, tool.Errorf(tool.Failed, hintReport, "%s ended with exit code %d instead of returning an answer", c.inv.Export, e.exitCode))
}

func (c *call) outOfMemory(what string) *tool.Error {
	return OutOfMemory(c.inv.Export, c.module.memory, what)
}

// OutOfMemory is the failure of a guest that needs more than its cap.
func OutOfMemory(export string, most tool.Bytes, what string) *tool.Error {
	return tool.Errorf(tool.OutOfMemory, hintLess+"; the operator can raise its memory limit",
		"%s needs more than the %s of memory it may have: %s", export, most, what)
}

// crash names the reason of a trap. The engine's text, with its stack, goes to
// the log only.
func (c *call) crash(e *env, err error) *tool.Error {
	c.module.log.Debug("the plugin crashed", "export", c.inv.Export, "error", err)
	switch {
	case e.memory.ranOut():
		return c.outOfMemory("it asked for more and crashed")
	case errors.Is(err, errNoMemory), e.lost:
		return c.outOfMemory("the data it passes on did not fit")
	case errors.Is(err, errTooLong):
		return tool.Errorf(tool.TooLarge, hintLess, "%s passed more to the host than it takes", c.inv.Export)
	}
	if broken, ok := errors.AsType[boxError](err); ok {
		return c.withWords(e, tool.Errorf(tool.Trapped, hintReport, "%s does not work: %s", c.inv.Export, broken))
	}
	return c.withWords(e, tool.Errorf(tool.Trapped, hintOther, "%s crashed: %s", c.inv.Export, reason(err)))
}

// withWords adds what the guest itself has to say: the first line it printed
// to its stderr, where panics explain themselves, or the error it had set.
func (c *call) withWords(e *env, fail *tool.Error) *tool.Error {
	if words := clip(e.stderr.first(), maxPanicText); words != "" {
		fail.Msg += "; it printed: " + words
	} else if words := clip(strings.TrimSpace(printable(e.wrong, maxError)), maxPanicText); words != "" {
		fail.Msg += "; it said: " + words
	}
	return fail
}

// said is a failure in the guest's own words.
func (c *call) said(text string) *tool.Error {
	text = strings.TrimSpace(printable(text, maxError))
	if text == "" {
		text = c.inv.Export + " reported an error without a text"
	}
	return &tool.Error{Code: tool.Failed, Msg: text}
}

// unstarted judges an instance that did not come to be.
func (c *call) unstarted(err error) *tool.Error {
	if c.over() {
		return c.interrupted()
	}
	se, ok := errors.AsType[*startError](err)
	if ok && se.mounts {
		return tool.Errorf(tool.Failed, "the operator has to correct the tool's granted folders", "%s cannot start: %s", c.inv.Export, err)
	}
	if !ok || se.env == nil {
		return tool.Errorf(tool.Failed, hintReport, "%s cannot start: %s", c.inv.Export, reason(err))
	}
	if fail := c.judge(se.env, reply{}, err); fail != nil {
		return fail
	}
	return tool.Errorf(tool.Trapped, hintReport, "%s cannot start", c.inv.Export)
}

// reason is an engine's error without its stack traces and Go's own words.
func reason(err error) string {
	text := err.Error()
	for _, mark := range []string{"\nwasm stack trace", "\nGo runtime stack trace", " (recovered by wazero)"} {
		text, _, _ = strings.Cut(text, mark)
	}
	if _, trap, ok := strings.Cut(text, "wasm error: "); ok { // a start section puts its own words in front
		text = trap
	}
	known := map[string]string{
		"unreachable":                   "it reached code it says cannot be reached",
		"out of bounds memory access":   "it used memory outside of its bounds",
		"integer divide by zero":        "it divided by zero",
		"stack overflow":                "it called itself without end",
		"invalid table access":          "it called a function that does not exist",
		"indirect call type mismatch":   "it called a function in the wrong way",
		"integer overflow":              "a number was too large",
		"invalid conversion to integer": "a number could not be converted",
	}
	if plain, ok := known[text]; ok {
		return plain
	}
	return clip(printable(text, maxError), maxPanicText)
}

// clip cuts a text to n characters.
func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
