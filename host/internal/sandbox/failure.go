package sandbox

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/tool"
)

// maxPanicText bounds how much of a crashing guest's output a failure shows, in
// characters.
const maxPanicText = 200

// Hints tell a model what to do next.
const (
	hintLess   = "ask for less at once, or narrow the arguments"
	hintMemory = "ask for less at once, or narrow the arguments; the operator can raise the tool's memory limit"
	hintOther  = "try other arguments; if the call fails again, use another tool"
	hintReport = "use another tool; only the plugin's author can fix this one"
	hintAgain  = "call it again"
	hintFolder = "use another tool; the operator must correct the folders that this tool was granted"
	hintText   = "pass less text"
)

// failure returns the failure of a finished call, or nil. What the host saw counts
// more than what the guest reports, so the order of the cases matters.
func (c *call) failure(e *env, r reply, err error) *tool.Error {
	e.mu.Lock()
	defer e.mu.Unlock()
	name := c.inv.Name()
	switch {
	case err != nil && c.over():
		return c.interrupted()
	case e.exited:
		// Exit code 0 is no success either: the guest did not reach its end.
		return c.withGuestText(e, tool.Failed, hintReport, tool.Textf("%s ended with exit code %d and returned no result", name, e.exitCode))
	case err != nil:
		return c.crash(e, err)
	case e.wrong != "":
		return c.reported(e.wrong)
	case r.code != 0:
		return c.withGuestText(e, tool.Failed, hintOther, tool.Textf("%s failed with code %d and gave no reason", name, r.code))
	case e.lost && (len(r.output) == 0 || r.astray || len(r.output) != e.wanted):
		return c.outOfMemory("its output did not fit")
	case r.astray || len(r.output) != e.wanted:
		return tool.Errorf(tool.Trapped, hintReport, "%s returned an output that does not exist", name)
	}
	return nil
}

func (c *call) interrupted() *tool.Error {
	return interrupted(c.inv, c.outer.Err(), c.expired(), c.closing())
}

// Interrupted returns the failure of a call that was stopped early. outer is the
// error of the caller's context, expired reports whether the call's own deadline has
// passed, and closing whether the plugin is being closed.
func Interrupted(inv Invocation, outer error, expired, closing bool) *tool.Error {
	return interrupted(inv.withDefaults(), outer, expired, closing)
}

func interrupted(inv Invocation, outer error, expired, closing bool) *tool.Error {
	switch {
	case closing && outer == nil:
		return tool.Errorf(tool.Cancelled, hintAgain, "%s was stopped because its plugin is being closed", inv.Name())
	case errors.Is(outer, context.Canceled):
		return tool.Errorf(tool.Cancelled, "", "the call of %s was cancelled", inv.Name())
	case outer == nil && expired:
		return tool.Errorf(tool.TimedOut, hintLess, "%s did not finish within %s", inv.Name(), inv.Timeout.Round(time.Millisecond))
	}
	return tool.Errorf(tool.TimedOut, hintLess, "%s did not finish in the remaining time", inv.Name())
}

func (c *call) outOfMemory(why string) *tool.Error {
	return OutOfMemory(c.inv, c.module.memory, why)
}

// OutOfMemory returns the failure of a guest that needs more memory than its limit.
// why is an English sentence part, and the key of its translations.
func OutOfMemory(inv Invocation, limit tool.Bytes, why string) *tool.Error {
	return tool.Errorf(tool.OutOfMemory, hintMemory, "%s needs more than its memory limit of %s: %s", inv.Name(), limit, tool.Text{Format: why})
}

// Replaced returns the failure of a call that came when its plugin was being closed.
func Replaced(plugin string) *tool.Error {
	return tool.Errorf(tool.Failed, hintAgain, "the plugin %s is being replaced", plugin)
}

// BadFolders returns the failure of a call whose granted folders cannot be opened.
func BadFolders(inv Invocation, err error) *tool.Error {
	return tool.Errorf(tool.Failed, hintFolder, "%s cannot start: %s", inv.Name(), err)
}

// crash returns the failure of a trap. The engine's own text, with its stack trace,
// goes to the log only.
func (c *call) crash(e *env, err error) *tool.Error {
	c.module.log.Debug("the plugin crashed", "export", c.inv.Export, "error", err)
	name := c.inv.Name()
	switch {
	case e.memory.ranOut():
		return c.outOfMemory("it asked for more and crashed")
	case errors.Is(err, errNoMemory), e.lost:
		return c.outOfMemory("its input or output did not fit")
	case errors.Is(err, errTooLong):
		return tool.Errorf(tool.TooLarge, hintLess, "%s passed more data to the host than the host accepts", name)
	}
	if broken, ok := errors.AsType[boxError](err); ok {
		return c.withGuestText(e, tool.Trapped, hintReport, tool.Textf("%s does not work: %s", name, tool.Text{Format: string(broken)}))
	}
	why := reason(err)
	if said := clip(e.stderr.first(), maxPanicText); said != "" && why.Format == unreached {
		// It crashed on purpose, and said why.
		return tool.Errorf(tool.Trapped, hintOther, "%s crashed: %s", name, said)
	}
	return c.withGuestText(e, tool.Trapped, hintOther, tool.Textf("%s crashed: %s", name, why))
}

// unreached is why a guest crashed that ended itself.
const unreached = "it reached code that it marked as unreachable"

// withGuestText returns a failure with the guest's own explanation: the first line
// of its stderr, where a panic explains itself, or the error text that it set.
func (c *call) withGuestText(e *env, code tool.Code, hint string, sentence tool.Text) *tool.Error {
	if text := clip(e.stderr.first(), maxPanicText); text != "" {
		sentence = tool.Textf("%v; it printed: %s", sentence, text)
	} else if text := clip(strings.TrimSpace(printable(e.wrong, maxError)), maxPanicText); text != "" {
		sentence = tool.Textf("%v; it reported: %s", sentence, text)
	}
	return tool.NewError(code, sentence, tool.Text{Format: hint})
}

// reported returns a failure in the guest's own words, which are in no catalogue.
func (c *call) reported(text string) *tool.Error {
	if text = strings.TrimSpace(printable(text, maxError)); text == "" {
		return tool.Errorf(tool.Failed, hintOther, "%s reported an error without a message", c.inv.Name())
	}
	return tool.Errorf(tool.Failed, "", "%s", text)
}

// notStarted returns the failure of a call whose instance could not be made.
func (c *call) notStarted(err error) *tool.Error {
	if c.over() {
		return c.interrupted()
	}
	se, ok := errors.AsType[*startError](err)
	if ok && se.mounts {
		return BadFolders(c.inv, err)
	}
	if !ok || se.env == nil {
		return tool.Errorf(tool.Failed, hintReport, "%s cannot start: %s", c.inv.Name(), reason(err))
	}
	if fail := c.failure(se.env, reply{}, err); fail != nil {
		return fail
	}
	return tool.Errorf(tool.Trapped, hintReport, "%s cannot start", c.inv.Name())
}

// reason returns an engine's error without stack traces and internal terms.
func reason(err error) tool.Text {
	if own, ok := errors.AsType[*msg.Error](err); ok {
		return own.Text
	}
	text := err.Error()
	for _, mark := range []string{"\nwasm stack trace", "\nGo runtime stack trace", " (recovered by wazero)"} {
		text, _, _ = strings.Cut(text, mark)
	}
	if _, trap, ok := strings.Cut(text, "wasm error: "); ok { // a start section adds a prefix
		text = trap
	}
	known := map[string]string{
		"unreachable":                   unreached,
		"out of bounds memory access":   "it accessed memory outside its bounds",
		"integer divide by zero":        "it divided by zero",
		"stack overflow":                "its calls were nested without end",
		"invalid table access":          "it called a function that does not exist",
		"indirect call type mismatch":   "it called a function with the wrong types",
		"integer overflow":              "a number was too large",
		"invalid conversion to integer": "a number could not be converted",
	}
	if plain, ok := known[text]; ok {
		return tool.Text{Format: plain}
	}
	return tool.Textf("%s", clip(printable(text, maxError), maxPanicText))
}

// clip cuts a text to n characters.
func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
