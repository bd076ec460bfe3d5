// Package script runs scripts that a model or a person has written: JavaScript that calls
// tools. Every call of a script is a call of the host: with the schema, limits, approvals,
// archive and log of the tool. The whole of every result stays in the archive, and only
// what the script returns is cut, once.
package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/scriptvm"
	"github.com/weirhost/weir/sdk/tool"
)

// Name is the tool that scripts are archived under.
const Name = tool.RunScript

// A Session calls tools for a script. *host.Session is one. Its methods are called by
// several goroutines at a time.
type Session interface {
	Call(ctx context.Context, c tool.Call) (tool.Result, error)
	IngestAs(ctx context.Context, spec tool.Spec, c tool.Call, whole []byte, note string) (tool.Result, error)
	FindToolsAmong(ctx context.Context, query string, n int, sees func(name string) bool) []string
}

// An Archive returns the whole of a result. It is safe for concurrent use.
type Archive interface {
	Get(ctx context.Context, sc archive.Scope, uuid string) (archive.Entry, error)
	Peek(ctx context.Context, sc archive.Scope, uuid string, p archive.Part) (archive.Page, error)
}

// Options are the bounds of a script.
type Options struct {
	// Calls is how many calls one script may make. 0 means DefaultCalls; negative: none.
	Calls int
	// Parallel is how many of them run at a time. 0 or less means DefaultParallel.
	Parallel int
	// Scripts is how many scripts run at a time; others wait. 0 or less means
	// DefaultScripts. Each may take the memory of scriptvm.Options.
	Scripts int
}

// Defaults of Options.
const (
	DefaultCalls    = 200
	DefaultParallel = 4
	DefaultScripts  = 4
)

// Bounds of what a script asks for and leaves, beside the calls.
const (
	// maxRequests is how often a script may ask the host: calls, texts, parts, searches.
	maxRequests = 2000
	// maxLogged is how much of what it logs is kept, in bytes.
	maxLogged = 64 << 10
	// maxOutput is how much of its answer is put together, in bytes: a byte more than the
	// host keeps of one result.
	maxOutput = 8<<20 + 1
)

// inlineChars is how long a text may be, in characters, that a result brings along.
const inlineChars = 4000

// A Script is one to run.
type Script struct {
	Source string
	Tools  []tool.Spec // what it may call
	Scope  archive.Scope
	CallID string
	Turn   int
	Locale tool.Locale
	// Args are what the script finds as args, a JSON object; nil: an empty one.
	Args json.RawMessage
	// As is the tool whose result the answer is: its name and limits; the zero value: run_script.
	As tool.Spec
	// Input is the call that asked for the script, as the archive keeps it; nil: the source.
	Input json.RawMessage
	// MaxChars is the limit of the agent that calls, as in tool.Call.
	MaxChars int
	// Called receives each call that has ended, one at a time; nil: they are dropped.
	Called func(c tool.Call, r tool.Result, took time.Duration)
}

// A Made is one call that a script made.
type Made = tool.Inner

// An Outcome is what became of a script.
type Outcome struct {
	// Result is the answer as a tool's: archived, and cut. Its Inner are the Calls.
	Result tool.Result
	Calls  []Made
	Logged []string
}

// A Runner runs scripts. It is safe for concurrent use.
type Runner struct {
	engine  *scriptvm.Runtime
	archive Archive
	options Options
	slots   chan struct{} // one for each script that runs
}

// New returns a Runner. The engine must stay open while it is used.
func New(engine *scriptvm.Runtime, a Archive, o Options) *Runner {
	if o.Calls == 0 {
		o.Calls = DefaultCalls
	}
	if o.Parallel <= 0 {
		o.Parallel = DefaultParallel
	}
	if o.Scripts <= 0 {
		o.Scripts = DefaultScripts
	}
	return &Runner{engine, a, o, make(chan struct{}, o.Scripts)}
}

// run is one script under way.
type run struct {
	*Runner
	Script
	session Session
	names   map[string]bool
	made    []Made
	logged  []string
	// What is counted against the bounds.
	requests, logBytes int
}

// log keeps lines, as long as they are few.
func (x *run) log(lines ...string) {
	for _, l := range lines {
		if x.logBytes += len(l) + 1; x.logBytes <= maxLogged {
			x.logged = append(x.logged, l)
		}
	}
}

// Run runs a script to its end. The faults of the script are the Result's Err; an error
// means that ctx has ended or the Session is closed.
func (r *Runner) Run(ctx context.Context, s Session, script Script) (Outcome, error) {
	x := &run{Runner: r, Script: script, session: s, names: map[string]bool{}}
	var names []string
	for _, t := range script.Tools {
		if t.Name != Name {
			x.names[t.Name] = true
			names = append(names, t.Name)
		}
	}
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return Outcome{}, ctx.Err()
	}
	vm, state, err := r.engine.Start(ctx, script.Source, scriptvm.Setting{Tools: names, Args: script.Args})
	if err != nil {
		return x.failed(err)
	}
	defer vm.Close(context.WithoutCancel(ctx))
	state, err = x.toEnd(ctx, vm, state)
	if err != nil {
		return x.failed(err)
	}
	return x.finish(ctx, state)
}

// toEnd answers what the script wants until it has ended.
func (x *run) toEnd(ctx context.Context, vm *scriptvm.Script, state scriptvm.State) (scriptvm.State, error) {
	ctx, cancel := context.WithCancel(ctx)
	var calls sync.WaitGroup
	defer calls.Wait()
	defer cancel() // ends the calls that the script does not await
	answers, slots, pending := make(chan answered), make(chan struct{}, x.options.Parallel), 0
	for {
		x.log(state.Logged...)
		if state.Done {
			return state, nil
		}
		if x.requests += len(state.Wants); x.requests > maxRequests {
			return state, errRequests
		}
		for _, w := range state.Wants {
			pending++
			number := len(x.made)
			if w.Kind == "call" {
				x.made = append(x.made, Made{Tool: w.Tool})
			}
			calls.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				a := x.answer(ctx, w, number)
				select {
				case answers <- a:
				case <-ctx.Done():
				}
			})
		}
		if pending == 0 {
			return state, errStuck
		}
		ready, err := x.collect(ctx, answers)
		if err != nil {
			return state, err
		}
		pending -= len(ready)
		if state, err = vm.Step(ctx, ready); err != nil {
			return state, err
		}
	}
}

// errStuck says that a script waits for nothing that can come.
var errStuck = errors.New("the script awaits a promise that nothing settles")

// errRequests says that a script asked the host more than maxRequests times.
var errRequests = errors.New("the script asks too often")

// An answered is an answer, and what it says about the call.
type answered struct {
	scriptvm.Answer
	number int
	made   Made
	call   *tool.Call // nil: no tool was called
	result tool.Result
	err    error // the script must stop
}

// collect waits for one answer and takes all that are ready.
func (x *run) collect(ctx context.Context, answers <-chan answered) (out []scriptvm.Answer, err error) {
	take := func(a answered) {
		if a.made.Tool != "" {
			x.made[a.number] = a.made
		}
		if a.call != nil && a.err == nil && x.Called != nil {
			x.Called(*a.call, a.result, a.made.Took)
		}
		err = errors.Join(err, a.err)
		out = append(out, a.Answer)
	}
	select {
	case a := <-answers:
		take(a)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	for {
		select {
		case a := <-answers:
			take(a)
		default:
			return out, err
		}
	}
}

// answer does what a script wants.
func (x *run) answer(ctx context.Context, w scriptvm.Want, number int) answered {
	a := answered{Answer: scriptvm.Answer{ID: w.ID}, number: number}
	var value any
	switch w.Kind {
	case "call":
		return x.call(ctx, w, a)
	case "text":
		e, err := x.archive.Get(ctx, x.Scope, w.UUID)
		if err != nil {
			return x.refuse(a, tool.Errorf(tool.BadArgs, "", "there is no result with this uuid"))
		}
		value = e.Full
	case "part":
		uuid, p, err := archive.ParsePart(w.Part)
		if fail, ok := errors.AsType[*tool.Error](err); ok {
			return x.refuse(a, fail)
		}
		page, err := x.archive.Peek(ctx, x.Scope, uuid, p)
		if fail, ok := errors.AsType[*tool.Error](err); ok {
			return x.refuse(a, fail)
		} else if err != nil {
			return x.refuse(a, tool.Errorf(tool.BadArgs, "", "there is no result with this uuid"))
		}
		value = page.Text
	case "find":
		value = x.session.FindToolsAmong(ctx, w.Query, max(1, min(w.Count, mostFound)), func(name string) bool { return x.names[name] })
	case "describe":
		for _, t := range x.Tools {
			if t.Name == w.Tool {
				value = t
			}
		}
		if value == nil {
			return x.refuse(a, unknown(w.Tool))
		}
	default:
		return x.refuse(a, tool.Errorf(tool.BadArgs, "", "the host does not know this request"))
	}
	return x.with(a, value)
}

// mostFound is how many tools one search of a script finds.
const mostFound = 20

func unknown(name string) *tool.Error {
	return tool.Errorf(tool.UnknownTool, "ALL_TOOLS has the names", "there is no tool %q", name)
}

// refuse gives the script an error, in its language.
func (x *run) refuse(a answered, fail *tool.Error) answered {
	fail = msg.ToolError(x.Locale, fail)
	a.Fault = &scriptvm.Fault{Code: string(fail.Code), Message: fail.Msg, Hint: fail.Hint}
	if a.made.Tool != "" {
		a.made.Fault = fail.Code
	}
	return a
}

func (x *run) with(a answered, value any) answered {
	text, err := json.Marshal(value)
	if err != nil {
		return x.refuse(a, tool.Errorf(tool.Failed, "", "the answer cannot be written as JSON"))
	}
	a.Value = text
	return a
}

// call makes one call of a tool.
func (x *run) call(ctx context.Context, w scriptvm.Want, a answered) answered {
	a.made = Made{Tool: w.Tool}
	switch {
	case a.number >= x.options.Calls:
		return x.refuse(a, tool.Errorf(tool.TooLarge, "do more with each call", "a script may make %d calls", max(0, x.options.Calls)))
	case !x.names[w.Tool]:
		return x.refuse(a, unknown(w.Tool))
	}
	c := tool.Call{ID: fmt.Sprintf("%s.%d", x.CallID, a.number+1), Tool: w.Tool, Args: w.Args, Turn: x.Turn}
	began := time.Now()
	r, err := x.session.Call(ctx, c)
	a.call, a.result, a.err, a.made.Took = &c, r, err, time.Since(began)
	switch {
	case err != nil:
		return a
	case r.Err != nil:
		return x.refuse(a, r.Err)
	}
	whole := r.Whole()
	handle := map[string]any{"tool": w.Tool, "uuid": "", "chars": r.Shown.TotalChars, "lines": r.Shown.TotalLines}
	if r.Ref != nil {
		handle["uuid"], a.made.UUID = r.Ref.UUID, r.Ref.UUID
	}
	if r.Ref == nil || len(whole) <= inlineChars || utf8.RuneCountInString(whole) <= inlineChars {
		handle["text"] = whole
	}
	a.made.Chars = r.Shown.TotalChars
	return x.with(a, handle)
}

// finish archives what the script returned, and cuts it.
func (x *run) finish(ctx context.Context, state scriptvm.State) (Outcome, error) {
	if state.Waiting > 0 {
		x.log(msg.In(x.Locale, tool.Textf("calls that the script did not await, and which are dropped: %d", state.Waiting)))
	}
	if f := state.Fault; f != nil {
		hint := tool.Textf("correct the script")
		if f.Line > 0 {
			hint = tool.Textf("correct line %d, column %d of the script", f.Line, f.Column)
		}
		return x.end(tool.NewError(tool.Failed, tool.Textf("%s", f.Message), hint))
	}
	size := 0
	var parts []string
	for _, p := range state.Output {
		text, err := x.whole(ctx, p)
		if err != nil {
			return x.end(tool.Errorf(tool.Failed, "return a text", "what the script returns cannot be read"))
		}
		parts = append(parts, text)
		if size += len(text) + 1; size > maxOutput {
			break
		}
	}
	return x.keep(ctx, strings.Join(parts, "\n"))
}

// whole returns a part of the output: a text, or the whole of a result.
func (x *run) whole(ctx context.Context, part json.RawMessage) (string, error) {
	var text string
	if json.Unmarshal(part, &text) == nil {
		return text, nil
	}
	var ref struct{ Result string }
	if err := json.Unmarshal(part, &ref); err != nil {
		return "", err
	}
	e, err := x.archive.Get(ctx, x.Scope, ref.Result)
	return e.Full, err
}

// failed returns the outcome of a script that the engine ended.
func (x *run) failed(err error) (Outcome, error) {
	switch {
	case errors.Is(err, scriptvm.ErrSource):
		return x.end(tool.Errorf(tool.TooLarge, "write a shorter script", "the script is longer than %d bytes, or not UTF-8", scriptvm.MaxSource))
	case errors.Is(err, scriptvm.ErrTime):
		return x.end(tool.Errorf(tool.TimedOut, "compute less, or in several scripts", "the script computes for too long"))
	case errors.Is(err, scriptvm.ErrBroken):
		return x.end(tool.Errorf(tool.OutOfMemory, "hold less at a time; r.part({…}) reads a part of a result", "the script has used up its memory"))
	case errors.Is(err, errRequests):
		return x.end(tool.Errorf(tool.TooLarge, "read more with each call or part", "a script may ask the host %d times", maxRequests))
	case errors.Is(err, errStuck):
		return x.end(tool.Errorf(tool.Failed, "await calls of tools alone", "the script awaits a promise that nothing settles"))
	}
	return Outcome{Calls: x.made, Logged: x.logged}, err
}

func (x *run) end(fail *tool.Error) (Outcome, error) {
	r := tool.Result{CallID: x.CallID, Tool: x.as().Name, Err: msg.ToolError(x.Locale, fail), Note: x.note(), Inner: x.made}
	return Outcome{Result: r, Calls: x.made, Logged: x.logged}, nil
}
