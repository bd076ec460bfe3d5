package script

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/weirhost/weir/host/internal/scriptproc"
	"github.com/weirhost/weir/host/internal/scriptvm"
	"github.com/weirhost/weir/sdk/tool"
)

// What ends a script that nothing else ends.
var (
	// errStuck says that a script waits for nothing that can come.
	errStuck = errors.New("the script awaits a promise that nothing settles")
	// errRequests says that a script asked the host more than maxRequests times.
	errRequests = errors.New("the script asks too often")
	// errAway says that a script was put away: it waits for a person, or weir stops.
	errAway = errors.New("the script was put away")
	// errRan says that a script ran for longer than Options.Time.
	errRan = errors.New("the script runs for too long")
)

// run is one script under way. One goroutine runs it; its calls have their own.
type run struct {
	*Runner
	Script
	session Session
	names   map[string]bool
	store   *storage  // nil: nothing is stored
	since   time.Time // when Ran was counted last

	flying  int // wants that are being answered
	answers chan answered
	slots   chan struct{} // one for each call at a time

	mu    sync.Mutex // held except while the goroutine waits; guards all below
	vm    *scriptproc.Script
	wants map[int]*want // what the script waits for, by Want.ID
	ready []answered    // not given to the script yet
	told  []string      // the last of kept.Log, which the host says
	kept
}

// kept is what is known about a script beside its memory. It is stored with it.
type kept struct {
	Made    []Made   `json:"made,omitempty"`
	Briefs  []string `json:"briefs,omitempty"` // the calls of Made for a person: NAME(ARGUMENTS)
	Log     []string `json:"log,omitempty"`
	Origins []origin `json:"origins,omitempty"`
	// Sources are those of the results, at most 100.
	Sources []tool.Source `json:"sources,omitempty"`
	// Allowed are the tools whose calls a person has allowed for the whole script, with the
	// identity that they had.
	Allowed map[string]string `json:"allowed,omitempty"`
	// What is counted against the bounds. Ran is how long it has run, without waiting for a
	// person, Searched how long its results were searched.
	Requests int           `json:"requests"`
	LogBytes int           `json:"log_bytes"`
	Ran      time.Duration `json:"ran"`
	Searched time.Duration `json:"searched"`
}

// A want is what a script waits for.
type want struct {
	scriptvm.Want
	number int    // of the call, from 0; of other wants, how many calls preceded them
	id     string // of the call
	stored bool   // the journal has a row of it
	begun  bool   // it may have an effect
	failed error  // why it must not begin
	// parked says that it has to wait for a person, landed that it does and nothing answers it
	// meanwhile, asked that its row has the question.
	parked, landed, asked bool
	// question is what a person is asked; verdict the answer. Nil: nothing, not yet.
	question *Question
	verdict  *Verdict
}

func (r *Runner) newRun(s Script) *run {
	return &run{
		Runner: r, Script: s, names: map[string]bool{}, wants: map[int]*want{},
		answers: make(chan answered), slots: make(chan struct{}, r.options.Parallel),
	}
}

// open sets what the script calls tools with.
func (x *run) open(s Session, tools []tool.Spec) {
	x.session, x.Tools = s, tools
	for _, t := range tools {
		if t.Name != Name {
			x.names[t.Name] = true
		}
	}
}

// close frees the script's memory.
func (x *run) close() {
	if x.vm != nil {
		x.vm.Close()
		x.vm = nil
	}
}

// start starts the script.
func (x *run) start(ctx context.Context) (state scriptvm.State, err error) {
	x.store.stepped()
	x.vm, state, err = x.engine.Start(ctx, scriptproc.Start{
		Source: x.Source, Setting: scriptvm.Setting{Tools: slices.Sorted(maps.Keys(x.names)), Args: x.Args}, User: x.Scope.Principal, Stop: x.store.stopping(),
	})
	if errors.Is(err, scriptproc.ErrStopped) { // nothing of it has run
		err = errAway
	}
	return state, err
}

// log keeps lines, as long as they are few.
func (x *run) log(lines ...string) {
	for _, l := range lines {
		if x.LogBytes += len(l) + 1; x.LogBytes <= maxLogged {
			x.Log = append(x.Log, l)
		}
	}
}

// toEnd answers what the script wants until it has ended. begin returns its first state.
func (x *run) toEnd(ctx context.Context, begin func(context.Context) (scriptvm.State, error)) (scriptvm.State, error) {
	ctx, cancel := context.WithCancel(ctx)
	var calls sync.WaitGroup
	defer calls.Wait()
	defer cancel() // ends the calls that the script does not await
	x.mu.Lock()
	defer x.mu.Unlock()
	launch := func(w *want) {
		x.flying++
		calls.Go(func() { x.fly(ctx, w) })
	}
	state, err := begin(ctx)
	x.since = time.Now()
	for _, w := range x.resumed() {
		launch(w)
	}
	for err == nil {
		x.log(state.Logged...)
		if state.Done {
			return state, nil
		}
		if x.Requests += len(state.Wants); x.Requests > maxRequests {
			return state, errRequests
		}
		for _, w := range state.Wants {
			if w.ID > 0 && x.wants[w.ID] == nil { // others are forged
				launch(x.add(w))
			}
		}
		if err = x.collect(ctx, launch); err == nil {
			state, err = x.step(ctx)
		}
	}
	return state, err
}

// add keeps what the script wants.
func (x *run) add(v scriptvm.Want) *want {
	w := &want{Want: v, number: len(x.Made)}
	if v.Kind == "call" {
		w.id = x.callID(w.number)
		x.Made = append(x.Made, Made{Tool: v.Tool})
		x.Briefs = append(x.Briefs, brief(v.Tool, v.Args))
	}
	x.wants[v.ID] = w
	return w
}

// callID returns the id of a call, by its number.
func (x *run) callID(number int) string { return fmt.Sprintf("%s.%d", x.CallID, number+1) }

// fly answers a want, when one more may run.
func (x *run) fly(ctx context.Context, w *want) {
	x.slots <- struct{}{}
	defer func() { <-x.slots }()
	a := answered{want: w, away: true}
	if !x.store.stops() {
		a = x.answerTo(ctx, w)
	}
	select {
	case x.answers <- a:
	case <-ctx.Done():
		x.lost(a)
	}
}

// An answered is an answer, and what it says about the call.
type answered struct {
	scriptvm.Answer
	want   *want
	made   Made
	call   *tool.Call // nil: no tool was called
	result tool.Result
	origin *origin
	away   bool  // it did not begin, because weir stops
	err    error // the script must stop
	// searched is how long a result was searched.
	searched time.Duration
}

// collect waits until the script can go on, and takes all answers that are there. The
// error is errAway if it cannot before a person answers or weir starts again.
func (x *run) collect(ctx context.Context, launch func(*want)) error {
	patience, end := x.store.patience(), x.store.end()
	for len(x.ready) == 0 || x.store.stops() {
		if x.flying == 0 {
			return x.rest(ctx)
		}
		x.mu.Unlock()
		a, late, err := x.receive(ctx, patience, end)
		x.mu.Lock()
		switch {
		case err != nil:
			return err
		case late:
			patience = nil
			err = x.putAway(ctx)
		case a == nil:
			err = x.decided(ctx, launch)
		default:
			if err = x.take(*a); a.want.parked {
				patience = x.store.soon()
			}
		}
		if err != nil {
			return err
		}
	}
	for {
		select {
		case a := <-x.answers:
			if err := x.take(a); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

// tick counts the time.
func (x *run) tick() {
	now := time.Now()
	x.Ran, x.since = x.Ran+now.Sub(x.since), now
}

// receive waits for an answer. late reports that patience came first; nil without an error
// that a person has decided.
func (x *run) receive(ctx context.Context, patience, end <-chan time.Time) (a *answered, late bool, err error) {
	select {
	case a := <-x.answers:
		return &a, false, nil
	case <-x.store.nudged():
		return nil, false, nil
	case <-patience:
		return nil, true, nil
	case <-end:
		return nil, false, errRan
	case <-ctx.Done():
		return nil, false, context.Cause(ctx)
	}
}

// rest ends a run of which nothing goes on.
func (x *run) rest(ctx context.Context) error {
	parked := slices.ContainsFunc(slices.Collect(maps.Values(x.wants)), func(w *want) bool { return w.landed })
	if !parked && !x.store.stops() {
		return errStuck
	}
	if err := x.putAway(ctx); err != nil {
		return err
	}
	return errAway
}

// take takes an answer.
func (x *run) take(a answered) error {
	x.flying--
	if a.want.landed = a.want.parked; a.away || a.want.landed {
		return nil
	}
	if a.want.Kind == "call" {
		x.Made[a.want.number] = a.made
	}
	if x.Searched += a.searched; x.Searched > x.engine.Time() {
		return scriptvm.ErrTime
	}
	if a.err == nil && a.Fault == nil {
		x.Sources = append(x.Sources, a.result.Sources[:min(len(a.result.Sources), maxSources-len(x.Sources))]...)
	}
	if a.origin != nil && len(x.Origins) < maxOrigins {
		x.Origins = append(x.Origins, *a.origin)
	}
	if a.call != nil && a.err == nil && x.Called != nil {
		x.Called(*a.call, a.result, a.made.Took)
	}
	x.ready = append(x.ready, a)
	return a.err
}

// step gives the script what is ready.
func (x *run) step(ctx context.Context) (scriptvm.State, error) {
	if err := x.back(ctx); err != nil {
		return scriptvm.State{}, err
	}
	answers := make([]scriptvm.Answer, 0, len(x.ready))
	for _, a := range x.ready {
		answers = append(answers, a.Answer)
	}
	state, err := x.vm.Step(ctx, answers)
	if errors.Is(err, scriptproc.ErrStopped) {
		return state, cmp.Or(x.putAway(ctx), errAway)
	}
	for _, a := range x.ready {
		x.store.gave(a.want)
		delete(x.wants, a.want.ID)
	}
	x.ready = nil
	x.store.stepped()
	return state, err
}
