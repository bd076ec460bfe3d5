// Package script runs scripts that a model or a person has written: JavaScript that calls
// tools. Every call of a script is a call of the host: with the schema, limits, approvals,
// archive and log of the tool. The whole of every result stays in the archive, and only
// what the script returns is cut, once.
//
// # Files
//
//   - script: the bounds
//   - run: one script under way
//   - runs: all that are stored
//   - storage, shared: when a state is stored, by which process
//   - answer: what the host does for a script
//   - keep: its result
//   - question: the card for a person
//   - says: what a model reads of a script that waits
//   - advice: errors
//   - engines: the engine of an old script
package script

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/scriptproc"
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

// A StartCall is called before a call. The call gets the context that it returns, and end
// is called with what came of it. It is safe for concurrent use.
type StartCall func(ctx context.Context, c tool.Call) (_ context.Context, end func(tool.Result, error))

// Watched returns a Session that makes the calls of s with start.
func Watched(s Session, start StartCall) Session { return watched{s, start} }

type watched struct {
	Session
	start StartCall
}

// Call implements Session.
func (w watched) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	ctx, end := w.start(ctx, c)
	r, err := w.Session.Call(ctx, c)
	end(r, err)
	return r, err
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
	// Scripts is how many scripts compute at a time; others wait. 0 or less means
	// DefaultScripts. Each may take the memory of scriptvm.Options.
	Scripts int
	// Patience is how long a script that Runs store waits in memory for calls. 0 means
	// DefaultPatience; negative: until they end.
	Patience time.Duration
	// Time is how long a script may run, without the time in which it waits for a person.
	// 0 or less means DefaultTime.
	Time time.Duration
}

// Defaults of Options.
const (
	DefaultTime     = 10 * time.Minute
	DefaultCalls    = 200
	DefaultParallel = 4
	DefaultScripts  = scriptproc.DefaultSlots
	DefaultPatience = 10 * time.Second // then it leaves memory; it may wait without end
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
	Tools  []tool.Spec `json:"-"` // what it may call
	Scope  archive.Scope
	CallID string
	Turn   int
	Locale tool.Locale
	// Args are what the script finds as args, a JSON object; nil: an empty one.
	Args json.RawMessage `json:",omitempty"`
	// As is the tool whose result the answer is: its name and limits; the zero value: run_script.
	As tool.Spec
	// Noted says that a model reads the answer: a line before it names what the model can
	// load of the calls.
	Noted bool
	// Input is the call that asked for the script, as the archive keeps it; nil: the source.
	Input json.RawMessage `json:",omitempty"`
	// MaxChars is the limit of the agent that calls, as in tool.Call.
	MaxChars int
	// May are the names of the tools that it may call, of those that its caller may; nil:
	// all. Runner.Run calls Tools.
	May []string `json:",omitempty"`
	// Allow says that the operator has read the script: no person is asked about its calls.
	// Runner.Run leaves that to its Session.
	Allow bool `json:",omitempty"`
	// Called receives each call that has ended, one at a time; nil: they are dropped.
	Called func(c tool.Call, r tool.Result, took time.Duration) `json:"-"`
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
	engine  *scriptproc.Engine
	archive Archive
	options Options
	engines Engines
}

// New returns a Runner. The engine must stay open while it is used.
func New(engine *scriptproc.Engine, a Archive, o Options) *Runner {
	o.Calls = cmp.Or(o.Calls, DefaultCalls)
	if o.Parallel <= 0 {
		o.Parallel = DefaultParallel
	}
	o.Patience = cmp.Or(o.Patience, DefaultPatience)
	if o.Time <= 0 {
		o.Time = DefaultTime
	}
	engine.Bound(o.Scripts)
	return &Runner{engine, a, o, one{engine}}
}

// Run runs a script to its end, in one go: nothing of it is stored. The faults of the
// script are the Result's Err; an error means that ctx has ended or the Session is closed.
func (r *Runner) Run(ctx context.Context, s Session, script Script) (Outcome, error) {
	x := r.newRun(script)
	x.open(s, script.Tools)
	defer x.close()
	state, err := x.toEnd(ctx, x.start)
	if err != nil {
		return x.failed(err)
	}
	return x.finish(ctx, state)
}

// finish archives what the script returned, and cuts it.
func (x *run) finish(ctx context.Context, state scriptvm.State) (Outcome, error) {
	x.tellUnawaited(state)
	if f := state.Fault; f != nil {
		return x.end(tool.NewError(tool.Failed, tool.Textf("%s", f.Message), x.advice(*f)))
	}
	if len(state.Output) == 0 && x.Noted {
		x.tell(tool.Textf("the script returned nothing: return VALUE or text(VALUE) gives an answer"))
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
	case errors.Is(err, scriptproc.ErrLost):
		return x.end(tool.Errorf(tool.Failed, "run it again", "the process of the script was ended"))
	case errors.Is(err, scriptvm.ErrBroken):
		return x.end(tool.Errorf(tool.OutOfMemory, "hold less at a time; r.part({…}) reads a part of a result", "the script has used up its memory"))
	case errors.Is(err, errRan):
		return x.end(tool.Errorf(tool.TimedOut, "do less in one script", "the script ran for longer than %s", x.options.Time))
	case errors.Is(err, errRequests):
		return x.end(tool.Errorf(tool.TooLarge, "read more with each call or part", "a script may ask the host %d times", maxRequests))
	case errors.Is(err, errStuck):
		return x.end(tool.Errorf(tool.Failed, "await calls of tools alone", "the script awaits a promise that nothing settles"))
	}
	if fail := errorOf(err); fail != nil {
		return x.end(fail)
	}
	return Outcome{Calls: x.Made, Logged: x.Log}, err
}

// end returns the outcome of a script that has failed.
func (x *run) end(fail *tool.Error) (Outcome, error) {
	for i, m := range x.Made {
		if m.Fault == "" && m.UUID == "" && m.Took == 0 { // it has no outcome, and comes to none
			x.Made[i].Fault = tool.Cancelled
		}
	}
	r := tool.Result{CallID: x.CallID, Tool: x.as().Name, Err: msg.ToolError(x.Locale, fail), Note: x.note(), Inner: x.Made}
	return Outcome{Result: r, Calls: x.Made, Logged: x.Log}, nil
}
