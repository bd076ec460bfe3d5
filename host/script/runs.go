package script

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/internal/installkey"
	"github.com/weirhost/weir/host/internal/scriptvm"
	"github.com/weirhost/weir/host/internal/signal"
	"github.com/weirhost/weir/host/script/journal"
	"github.com/weirhost/weir/sdk/tool"
)

// ErrNotFound is the error of a script that the principal does not have.
var ErrNotFound = journal.ErrNotFound

// What ends a run from outside.
var (
	errCancelled = errors.New("the script was cancelled")
	errStopped   = errors.New("weir stops")
)

// A Caller is what a script calls tools with.
type Caller struct {
	Session Session
	Tools   []tool.Spec // what it may call
	// Repeats says what may happen to a call of a tool whose outcome nothing knows.
	Repeats func(name string) Repeat
	// Called is Script.Called.
	Called func(c tool.Call, r tool.Result, took time.Duration)
	// Ended receives what became of the script; nil: it is dropped.
	Ended func(o Outcome, took time.Duration)
}

// Callers make what scripts call tools with, also of scripts that began in an earlier
// process.
type Callers interface {
	// Open returns a Caller whose Session asks the approver about calls, and calls begin
	// before each that runs. The error ends the script.
	Open(s Script, a approval.Approver, begin func(context.Context, tool.Call) error) (Caller, error)
	// Repeats is Caller.Repeats.
	Repeats(name string) Repeat
}

// Runs are scripts that are stored: each goes on after a person's answer or a restart of
// weir, and none of its calls happens twice. It is safe for concurrent use.
type Runs struct {
	runner  func(context.Context) (*Runner, error)
	journal *journal.Journal
	callers Callers
	log     hclog.Logger
	at      func(point string) error // for tests: fails where the process ends
	others  Membership               // nil: no other process runs scripts
	key     sealer

	mu      sync.Mutex
	active  map[string]*active
	soon    map[string]int       // how many decisions are being stored, by script
	own     map[string]owner     // by script
	takes   bool                 // scripts whose owners are gone
	stuck   map[string]time.Time // when a script could not go on
	stopped bool
	stop    chan struct{}
	cut     context.Context // ends when calls must end, too
	cutOff  context.CancelCauseFunc
	changed signal.Signal // of the state of any script
	running sync.WaitGroup
}

// active is a script that runs.
type active struct {
	principal string
	cancel    context.CancelCauseFunc
	nudge     chan struct{}
	again     bool // a person has decided since it began
}

// NewRuns returns Runs. It starts nothing. r returns what runs scripts, and is called
// whenever one begins or goes on. A nil log is silent.
func NewRuns(r func(context.Context) (*Runner, error), j *journal.Journal, c Callers, log hclog.Logger) *Runs {
	log = cmp.Or(log, hclog.NewNullLogger())
	out := &Runs{
		runner: r, journal: j, callers: c, log: log, at: func(string) error { return nil },
		active: map[string]*active{}, soon: map[string]int{}, own: map[string]owner{}, stuck: map[string]time.Time{}, stop: make(chan struct{}),
	}
	out.cut, out.cutOff = context.WithCancelCause(context.Background())
	return out
}

// Repeats says what may happen to a call of a tool whose outcome nothing knows.
func (r *Runs) Repeats(name string) Repeat { return r.callers.Repeats(name) }

// An Opener makes what a script calls tools with, as Callers do.
type Opener func(a approval.Approver, begin func(context.Context, tool.Call) error) Caller

// An owner is a caller that waits for a script, in whose name it runs meanwhile.
type owner struct {
	ctx  context.Context // for its values
	open Opener
}

// Start starts a script, and returns its id. It goes on when ctx ends.
func (r *Runs) Start(ctx context.Context, s Script) (string, error) {
	id, _, err := r.start(ctx, s, nil)
	return id, err
}

// StartFor is Start for a caller that waits for the script: until it calls release, the
// script calls tools with what open makes, and under the values of ctx.
func (r *Runs) StartFor(ctx context.Context, s Script, open Opener) (id string, release func(), err error) {
	return r.start(ctx, s, open)
}

// Adopt makes a caller that waits for a stored script its owner, as StartFor does.
func (r *Runs) Adopt(ctx context.Context, id string, open Opener) (release func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.own[id] = owner{ctx, open}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.own, id)
	}
}

// Disown ends what StartFor or Adopt has begun, unless the script runs or is about to: then
// it reports false, and the script still calls tools in the name of its owner.
func (r *Runs) Disown(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.runsLocked(id) {
		return false
	}
	delete(r.own, id)
	return true
}

// runsLocked reports whether a script runs or is about to. r.mu is held.
func (r *Runs) runsLocked(id string) bool { return r.active[id] != nil || r.soon[id] > 0 }

// aboutToRun marks a script that goes on in a moment, until done is called.
func (r *Runs) aboutToRun(id string) (done func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.soon[id]++
	return func() {
		r.mu.Lock()
		defer r.changed.Send()
		defer r.mu.Unlock()
		if r.soon[id]--; r.soon[id] == 0 {
			delete(r.soon, id)
		}
	}
}

func (r *Runs) start(ctx context.Context, s Script, open Opener) (id string, release func(), err error) {
	id = uuid.NewString()
	text, err := json.Marshal(s)
	if err != nil {
		return "", nil, err
	}
	row := journal.Script{ID: id, Principal: s.Scope.Principal, Conversation: s.Scope.Conversation, State: journal.Running, Script: text}
	if r.others != nil {
		row.Owner = r.others.ID()
	}
	defer r.aboutToRun(id)()
	if err := r.commit("add", func() error { return r.journal.Add(ctx, row) }); err != nil {
		return "", nil, err
	}
	release = func() {}
	if open != nil {
		release = r.Adopt(ctx, id, open)
	}
	r.spawn(row)
	return id, release, nil
}

func (r *Runs) commit(point string, write func() error) error {
	return (&storage{at: r.at}).commit(point, write)
}

// Recover goes on with the scripts of earlier processes, except those that wait for a
// person, and those that other processes run. Those of a backup end, and those that were
// stored under another token of the operator. Engines that no script needs are removed from
// the folder engines, in which KeptEngines has kept them; empty: there is none.
func (r *Runs) Recover(ctx context.Context, engines string) error {
	list, err := r.journal.Unfinished(ctx)
	if err == nil && engines != "" {
		needed := func(digest string) bool {
			return slices.ContainsFunc(list, func(s journal.Script) bool { return s.Runtime == digest })
		}
		if err := removeEngines(engines, needed); err != nil {
			r.log.Warn("engines that no script needs cannot be removed", "error", err)
		}
	}
	heads, failed := r.journal.Heads(ctx, installkey.NameBytes)
	err = errors.Join(err, failed)
	for _, s := range list {
		if head, ok := heads[s.ID]; ok && s.Runtime != journal.Restored && r.key.isOthers(head) {
			r.log.Warn("a script cannot go on, because the operator's token was changed", "id", s.ID)
			if end := r.endStored(s, otherToken()); !r.over(end) {
				err = errors.Join(err, end)
			}
			continue
		}
		if s.Runtime == journal.Restored {
			end := r.endStored(s, tool.Errorf(tool.Cancelled, "see what it has done before you run it again", "the script was under way when the backup was made; no script goes on from a backup"))
			if !r.over(end) {
				err = errors.Join(err, end)
			}
		} else if r.others == nil {
			r.spawn(s)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.takes = true
	return err
}

// Stop puts all scripts away: calls that have begun may end until ctx does, no other
// begins. Start and Decide do not run anything afterwards.
func (r *Runs) Stop(ctx context.Context) {
	r.mu.Lock()
	if !r.stopped {
		r.stopped = true
		close(r.stop)
	}
	r.mu.Unlock()
	defer context.AfterFunc(ctx, func() { r.cutOff(errStopped) })()
	r.running.Wait()
}

// spawn runs a script in the background, unless it runs.
func (r *Runs) spawn(s journal.Script) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a := r.active[s.ID]; a != nil {
		a.again = true
		signal.One(a.nudge)
		return
	}
	if r.stopped {
		return
	}
	base := r.cut
	if o, ok := r.own[s.ID]; ok {
		base = context.WithoutCancel(o.ctx)
	}
	ctx, cancel := context.WithCancelCause(base)
	free := context.AfterFunc(r.cut, func() { cancel(errStopped) })
	a := &active{principal: s.Principal, cancel: cancel, nudge: make(chan struct{}, 1)}
	r.active[s.ID] = a
	delete(r.stuck, s.ID)
	r.running.Go(func() {
		defer cancel(nil)
		defer free()
		for more := true; more; {
			err := r.run(ctx, a, s.Principal, s.ID)
			failed := err != nil && !r.over(err)
			if failed {
				r.log.Error("a script cannot go on", "id", s.ID, "error", err)
			}
			r.mu.Lock()
			if more = a.again && err == nil && !r.stopped && ctx.Err() == nil; !more {
				delete(r.active, s.ID)
			}
			if failed && r.others != nil {
				r.stuck[s.ID] = time.Now()
			}
			a.again = false
			r.mu.Unlock()
			r.changed.Send()
		}
	})
}

// run runs a stored script until it ends or is put away. The error means that neither is
// stored: the script goes on from what is.
func (r *Runs) run(ctx context.Context, a *active, principal, id string) (err error) {
	ctx, free, owned, err := r.claim(ctx, a, id)
	if err != nil || !owned {
		return err
	}
	defer func() {
		if end := free(err == nil); err == nil {
			err = end
		}
	}()
	s, wants, err := r.journal.Get(ctx, principal, id)
	decided := func(w journal.Want) bool { return w.Verdict != nil }
	if err != nil || s.State.Ended() || s.State == journal.Waiting && !slices.ContainsFunc(wants, decided) {
		return err
	}
	s.Snapshot = nil // many scripts may wait for their turn
	var script Script
	if err := json.Unmarshal(s.Script, &script); err != nil {
		return err
	}
	runner, err := r.runner(ctx)
	if err != nil {
		return err
	}
	x := runner.newRun(script)
	x.store = &storage{run: x, ctx: context.WithoutCancel(ctx), id: id, journal: r.journal, stop: r.stop, nudge: a.nudge, key: r.key, wait: runner.options.Patience, at: r.at, saved: -1}
	defer x.close()
	caller, err := r.caller(id, script, x.store)
	if err != nil {
		return r.end(x, s, Outcome{Result: tool.Result{CallID: script.CallID, Tool: x.as().Name, Err: tool.Errorf(tool.Failed, "", "%s", err)}}, nil)
	}
	x.open(caller.Session, slices.DeleteFunc(caller.Tools, func(t tool.Spec) bool { return script.May != nil && !slices.Contains(script.May, t.Name) }))
	x.store.repeats, x.Called, x.store.told = caller.Repeats, caller.Called, caller.Ended
	state, err := x.toEnd(ctx, x.resume(s, wants))
	switch {
	case errors.Is(err, errAway):
		return nil
	case errors.Is(context.Cause(ctx), errCancelled):
		out, _ := x.end(tool.Errorf(tool.Cancelled, "", "the script was cancelled"))
		return r.end(x, s, out, errCancelled)
	case ctx.Err() != nil:
		return nil
	case err != nil:
		out, err := x.failed(err)
		return r.end(x, s, out, err)
	}
	out, err := x.finish(ctx, state)
	if err != nil {
		return err
	}
	return r.end(x, s, out, nil)
}

// caller returns what a script calls tools with.
func (r *Runs) caller(id string, s Script, store *storage) (Caller, error) {
	r.mu.Lock()
	o, ok := r.own[id]
	r.mu.Unlock()
	if ok {
		return o.open(store, store.begin), nil
	}
	return r.callers.Open(s, store, store.begin)
}

// end stores what became of a script. err is what ended it: nil, or errCancelled; others
// end nothing.
func (r *Runs) end(x *run, s journal.Script, out Outcome, err error) (_ error) {
	s.State = journal.Done
	switch {
	case errors.Is(err, errCancelled):
		s.State = journal.Cancelled
	case err != nil:
		return err
	case out.Result.Err != nil:
		s.State = journal.Failed
	}
	if s.Outcome, err = json.Marshal(out); err != nil {
		return err
	}
	if s.Kept, err = json.Marshal(x.kept); err != nil {
		return err
	}
	ctx := context.Background()
	if x.store != nil {
		ctx = x.store.ctx
	}
	if err := r.commit("end", func() error { return r.journal.End(ctx, s) }); err != nil {
		return err
	}
	if x.store != nil && x.store.told != nil {
		x.store.told(out, time.Since(s.Created))
	}
	return nil
}

// A Status is how far a script is.
type Status struct {
	ID               string
	Script           Script
	State            journal.State
	Created, Updated time.Time
	// Calls are those so far, Briefs the same for a person: "read_file(notes.txt)".
	Calls  []Made
	Briefs []string
	Logged []string
	// Waits is how many calls wait for a person, Card which, in the order of the script.
	Waits int
	Card  []Question
	// Bytes is the size of what is stored of its memory.
	Bytes int
	// Outcome is what became of it; nil: it has not ended.
	Outcome *Outcome
}

// List returns the scripts of a principal, the newest first, without their cards.
func (r *Runs) List(ctx context.Context, principal string) ([]Status, error) {
	list, err := r.journal.List(ctx, principal)
	out := make([]Status, 0, len(list))
	for _, s := range list {
		one, err := status(s, nil)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, err
}

// Get returns a script of a principal. The error is ErrNotFound, or that of the database.
func (r *Runs) Get(ctx context.Context, principal, id string) (Status, error) {
	s, wants, err := r.journal.Get(ctx, principal, id)
	if err != nil {
		return Status{}, err
	}
	return status(s, wants)
}

func status(s journal.Script, wants []journal.Want) (Status, error) {
	out := Status{ID: s.ID, State: s.State, Created: s.Created, Updated: s.Updated, Waits: s.Waits, Bytes: len(s.Snapshot)}
	var k kept
	err := json.Unmarshal(s.Script, &out.Script)
	if s.Kept != nil {
		err = errors.Join(err, json.Unmarshal(s.Kept, &k))
	}
	out.Calls, out.Briefs, out.Logged = k.Made, k.Briefs, k.Log
	if s.Outcome != nil {
		out.Outcome = &Outcome{}
		err = errors.Join(err, json.Unmarshal(s.Outcome, out.Outcome))
	}
	for _, w := range wants {
		if w.Question == nil || w.Verdict != nil {
			continue
		}
		var q Question
		var v stored
		err = errors.Join(err, json.Unmarshal(w.Question, &q), json.Unmarshal(w.Want, &v))
		out.Card = append(out.Card, q)
		if v.Number < len(out.Calls) {
			out.Calls[v.Number].Fault = tool.Waiting
		}
	}
	if err != nil {
		err = fmt.Errorf("a stored script cannot be read: %w", err)
	}
	return out, err
}

// Wait returns a script when it has ended or nothing of it runs: it waits for a person, or
// weir stops. For a person it waits no longer than patience; 0: not at all.
func (r *Runs) Wait(ctx context.Context, principal, id string, patience time.Duration) (Status, error) {
	var deadline <-chan time.Time // nil: it runs
	for {
		changed := r.changed.Next()
		r.mu.Lock()
		runs, stopped := r.runsLocked(id), r.stopped
		_, stuck := r.stuck[id]
		elsewhere := r.others != nil && !stopped && !stuck // or soon: a process that lives takes it over
		r.mu.Unlock()
		s, err := r.Get(ctx, principal, id)
		runs = runs || elsewhere && s.State == journal.Running
		if err != nil || s.State.Ended() || !runs && (stopped || patience <= 0) {
			return s, err
		}
		if runs {
			deadline = nil
		} else if deadline == nil {
			deadline = time.After(patience)
		}
		select {
		case <-changed:
		case <-deadline:
			return s, nil
		case <-ctx.Done():
			return s, ctx.Err()
		}
	}
}

// Moved returns when the card of a script is no longer what it was: a person has answered
// elsewhere, or the script has ended. The error is that of ctx or of the database.
func (r *Runs) Moved(ctx context.Context, principal string, was Status) error {
	same := func(a, b Question) bool { return a.Key() == b.Key() }
	for {
		changed := r.changed.Next()
		s, err := r.Get(ctx, principal, was.ID)
		if err != nil || s.State != was.State || !slices.EqualFunc(s.Card, was.Card, same) {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Decide gives a person's answers to calls that wait, by their numbers, and goes on. The
// error is ErrNotFound where one of them does not wait: then none has its answer.
func (r *Runs) Decide(ctx context.Context, principal, id string, verdicts map[int]Verdict) error {
	s, _, err := r.journal.Get(ctx, principal, id)
	if err != nil {
		return err
	}
	rows := map[int]json.RawMessage{}
	for n, v := range verdicts {
		if rows[n], err = json.Marshal(v); err != nil {
			return err
		}
	}
	defer r.aboutToRun(id)()
	if err := r.commit("decide", func() error { return r.journal.Decide(ctx, id, rows) }); err != nil {
		return err
	}
	r.spawn(s)
	return nil
}

// Cancel ends a script. Calls that run are cancelled. The error is ErrNotFound where it has
// ended otherwise, also meanwhile.
func (r *Runs) Cancel(ctx context.Context, principal, id string) error {
	for {
		s, _, err := r.journal.Get(ctx, principal, id)
		if err != nil {
			return err
		}
		if !r.cancelActive(id) {
			if err := r.endStored(s, tool.Errorf(tool.Cancelled, "", "the script was cancelled")); err != nil {
				return err
			}
			r.cancelActive(id) // a person may have answered meanwhile: its calls end
			return nil
		}
		switch now, err := r.Wait(ctx, principal, id, 0); {
		case err != nil:
			return err
		case now.State == journal.Cancelled:
			return nil
		case now.State.Ended():
			return ErrNotFound
		}
		// It was put away at that moment, and is stored.
	}
}

// cancelActive cancels a script that runs; false: it does not.
func (r *Runs) cancelActive(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.active[id]
	if a != nil {
		a.cancel(errCancelled)
	}
	return a != nil
}

// endStored ends a script of which nothing runs.
func (r *Runs) endStored(s journal.Script, why *tool.Error) error {
	var script Script
	if err := json.Unmarshal(s.Script, &script); err != nil {
		return err
	}
	x := (&Runner{}).newRun(script)
	if s.Kept != nil {
		if err := json.Unmarshal(s.Kept, &x.kept); err != nil {
			return err
		}
	}
	out, _ := x.end(why)
	defer r.changed.Send()
	return r.end(x, s, out, errCancelled)
}

// errorOf words the errors of stored scripts; nil: err is another.
func errorOf(err error) *tool.Error {
	switch {
	case errors.Is(err, errGone):
		return tool.Errorf(tool.Failed, "run it again", "the script cannot go on: the engine that it was started with is there no more")
	case errors.Is(err, installkey.ErrOther):
		return otherToken()
	case errors.Is(err, scriptvm.ErrSnapshot), errors.Is(err, installkey.ErrChanged):
		return tool.Errorf(tool.Failed, "run it again", "the script cannot go on: its stored state is damaged or was changed")
	}
	return nil
}
