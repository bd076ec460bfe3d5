// Package offer makes scripts tools: run_script, whose argument is a script that a model
// has written, for turns and for MCP clients. It knows who is offered it, what it says of
// itself, and how a call of it runs in the session of its caller.
package offer

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/script"
	"github.com/weirhost/weir/sdk/tool"
)

// A Source returns what runs scripts. It opens the engine at the first use.
type Source func(context.Context) (*script.Runner, error)

// Tools are the scripts that are offered as tools. It is safe for concurrent use.
type Tools struct {
	// Runner runs them. Nil: none are offered.
	Runner Source
	// Runs store them. Nil: a script ends with its call.
	Runs *script.Runs
	// Settings returns the settings in force.
	Settings func() Settings
	// Taken reports whether another tool has a name. Nil: none has.
	Taken func(name string) bool
}

// A Caller is on whose behalf a script runs.
type Caller struct {
	// Open returns what makes the calls of the script, and archives what comes of it. It
	// asks the approver about calls, and calls begin before each that runs; nil: nothing.
	Open func(a approval.Approver, begin func(context.Context, tool.Call) error) script.Session
	// Ask asks a person about all calls that wait at a time, as one request. Nil: no person
	// is there, and the script waits.
	Ask approval.Approver
	// Repeats says that the caller makes the call again with a person's answer.
	Repeats bool
	// Leave receives the id of the script when the call ends before it: it waits for a person,
	// weir stops, or it takes longer than Patience (0 or negative: the call does not wait). It
	// then goes on without the call. Nil: the call waits for a script that runs.
	Leave    func(id string)
	Patience time.Duration
	// Tools are what the caller sees. Scripts among them are not called.
	Tools  []tool.Spec
	Scope  archive.Scope
	Locale tool.Locale
	// Called receives each call of the script that has ended, one at a time.
	Called func(c tool.Call, r tool.Result, took time.Duration)
}

// Specs returns the tools that are offered: run_script, and the scripts that are granted as
// tools of their own. writes says that the
// caller is known to write scripts.
func (t *Tools) Specs(writes bool) []tool.Spec {
	if t == nil || t.Runner == nil {
		return nil
	}
	var out []tool.Spec
	if o := t.Settings().Offer; o == Always || o != Never && writes {
		out = append(out, Spec())
	}
	for _, s := range t.granted() {
		out = append(out, s.Spec)
	}
	return out
}

// Has reports whether a tool is a script.
func (t *Tools) Has(name string) bool {
	return t != nil && t.Runner != nil && (name == tool.RunScript || t.isGranted(name))
}

// Call runs the script that a call asks for. Its faults are the Result's Err; an error
// means that ctx has ended, or that the host is closed.
func (t *Tools) Call(ctx context.Context, by Caller, c tool.Call) (tool.Result, error) {
	asked := t.written
	if c.Tool != tool.RunScript {
		asked = t.named
	}
	s, fail := asked(by, c)
	if fail != nil {
		return tool.Result{CallID: c.ID, Tool: c.Tool, Err: msg.ToolError(by.Locale, fail)}, nil
	}
	if t.Runs != nil {
		return t.stored(ctx, by, s)
	}
	runner, err := t.Runner(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	out, err := runner.Run(ctx, by.Open(by.Ask, nil), s)
	return out.Result, err
}

// written returns the script that a call of run_script brings.
func (t *Tools) written(by Caller, c tool.Call) (script.Script, *tool.Error) {
	code, fail := codeOf(c)
	if fail != nil {
		return script.Script{}, fail
	}
	s := t.scriptOf(by, c, func(string) bool { return true })
	s.Source = code
	return s, nil
}

// codeOf returns the argument of run_script.
func codeOf(c tool.Call) (string, *tool.Error) {
	var args struct {
		Code *string `json:"code"`
	}
	if json.Unmarshal(c.Args, &args) != nil || args.Code == nil || strings.TrimSpace(*args.Code) == "" {
		return "", tool.Errorf(tool.BadArgs, `write {"code": "return await tools.NAME({…})"}`, "the arguments of run_script are an object whose code is a script")
	}
	return unfenced(*args.Code), nil
}

// unfenced returns a script without the Markdown around it, which models write.
func unfenced(code string) string {
	lines := strings.Split(strings.TrimSpace(code), "\n")
	if n := len(lines); n >= 2 && strings.HasPrefix(lines[0], "```") && strings.TrimSpace(lines[n-1]) == "```" {
		lines[0], lines[n-1] = "", "" // the numbers of the other lines stay
		return strings.Join(lines, "\n")
	}
	return code
}
