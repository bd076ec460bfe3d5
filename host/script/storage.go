package script

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/internal/scriptvm"
	"github.com/weirhost/weir/host/script/journal"
	"github.com/weirhost/weir/sdk/tool"
)

// A storage stores a run. A nil one stores nothing.
//
// The state of a script is stored before a call with effects begins, in the transaction
// that says that the call begins: what the script has read and computed until then cannot
// change any more, as an effect may depend on it. Calls without effects are not stored:
// after a crash the script goes on from its last state and makes them again.
type storage struct {
	run     *run
	ctx     context.Context // of writes that do not end with the run
	id      string
	journal *journal.Journal
	stop    <-chan struct{} // closed when weir stops
	nudge   chan struct{}   // receives when a person has decided
	key     sealer
	wait    time.Duration // patience
	repeats func(name string) Repeat
	at      func(point string) error     // for tests: fails where the process ends
	told    func(Outcome, time.Duration) // Caller.Ended

	// Run.mu guards these.
	steps, saved int   // made; when the state was stored, -1: never
	given        []int // wants whose rows have to go with the next state
	again        []*want
}

// A Repeat says what may happen to a call whose outcome nothing knows.
type Repeat int

// The answers.
const (
	// Once: it is not made again.
	Once Repeat = iota
	// Idempotent: it is made again, as twice is the same as once.
	Idempotent
	// Reads: it is made again, and has no effect at all.
	Reads
)

// RepeatOf returns what the hints of a tool say.
func RepeatOf(h tool.Hints) Repeat {
	switch {
	case h.ReadOnly:
		return Reads
	case h.Idempotent:
		return Idempotent
	}
	return Once
}

// publishDelay is how long a question waits for those of other calls, to be on one card.
const publishDelay = 200 * time.Millisecond

func (s *storage) stopping() <-chan struct{} {
	if s == nil {
		return nil
	}
	return s.stop
}

func (s *storage) stops() bool {
	select {
	case <-s.stopping():
		return true
	default:
		return false
	}
}

func (s *storage) nudged() <-chan struct{} {
	if s == nil {
		return nil
	}
	return s.nudge
}

// patience returns a channel that receives when the script is put away; nil: it is not.
func (s *storage) patience() <-chan time.Time {
	if s == nil || s.wait < 0 {
		return nil
	}
	return time.After(s.wait)
}

// end returns a channel that receives when the script has run for too long. The clock of a
// script that is not stored is that of its caller.
func (s *storage) end() <-chan time.Time {
	if s == nil {
		return nil
	}
	s.run.tick()
	return time.After(s.run.options.Time - s.run.Ran)
}

// soon returns a channel that receives when the questions of calls that came together
// are stored.
func (s *storage) soon() <-chan time.Time { return time.After(publishDelay) }

// stepped says that the script is no longer as it was stored.
func (s *storage) stepped() {
	if s != nil {
		s.steps++
	}
}

// gave says that a want is answered within the script.
func (s *storage) gave(w *want) {
	if s != nil && w.stored {
		s.given = append(s.given, w.ID)
	}
}

// commit runs a write of the journal.
func (s *storage) commit(point string, write func() error) error {
	if err := s.at("before " + point); err != nil {
		return err
	}
	if err := write(); err != nil {
		return err
	}
	return s.at("after " + point)
}

// A stored is the row of a want.
type stored struct {
	scriptvm.Want
	Number int `json:"number"` // want.number
}

// A result is the row of what came of a want.
type result struct {
	Answer scriptvm.Answer `json:"answer"`
	Made   Made            `json:"made"`
	Origin *origin         `json:"origin,omitempty"`
}

// save stores the state. begun is the number of a want that begins with it; 0: none does.
func (s *storage) save(ctx context.Context, state journal.State, begun int) (err error) {
	x := s.run
	out := journal.Saved{State: state, Given: s.given, Begun: begun}
	if s.saved != s.steps {
		if err := s.at("before snapshot"); err != nil {
			return err
		}
		if out.Snapshot, err = x.vm.Snapshot(ctx); err != nil {
			return err
		}
		out.Runtime = scriptvm.RuntimeOf(out.Snapshot)
		out.Snapshot = s.key.seal(s.id, out.Snapshot)
		if err := x.engines.Keep(x.vm.Engine()); err != nil {
			return err
		}
	}
	x.tick()
	if out.Kept, err = json.Marshal(x.kept); err != nil {
		return err
	}
	wants := slices.SortedFunc(maps.Values(x.wants), func(a, b *want) int { return a.ID - b.ID })
	wants = slices.DeleteFunc(wants, func(w *want) bool { return w.stored && (!w.landed || w.asked) })
	for _, w := range wants {
		row := journal.Want{Number: w.ID}
		if row.Want, err = json.Marshal(stored{w.Want, w.number}); err != nil {
			return err
		}
		if w.landed {
			if row.Question, err = json.Marshal(w.question); err != nil {
				return err
			}
		}
		out.Wants = append(out.Wants, row)
	}
	if err := s.commit("save", func() error { return s.journal.Save(ctx, s.id, out) }); err != nil {
		return err
	}
	s.saved, s.given = s.steps, nil
	for _, w := range wants {
		w.stored, w.asked = true, w.landed
	}
	return nil
}

// errBegun says that a call must not begin.
var errBegun = errors.New("the call does not begin")

// begin is what each call waits for before it has an effect: that the state with it is
// stored. It implements the function of host.Session.Beginning.
func (s *storage) begin(ctx context.Context, c tool.Call) error {
	if s.repeats(c.Tool) == Reads {
		return nil
	}
	x := s.run
	x.mu.Lock()
	w := x.byCall(c.ID)
	if w == nil || s.stops() {
		x.mu.Unlock()
		return errBegun
	}
	if w.begun {
		x.mu.Unlock()
		return nil
	}
	if s.saved != s.steps || !w.stored {
		defer x.mu.Unlock()
		w.failed = s.save(ctx, journal.Running, w.ID)
	} else {
		x.mu.Unlock()
		w.failed = s.commit("begin", func() error { return s.journal.Begin(ctx, s.id, w.ID) })
	}
	w.begun = w.failed == nil
	return w.failed
}

// ended stores what came of a call that has begun.
func (s *storage) ended(a answered) error {
	if s == nil || !a.want.begun {
		return nil
	}
	text, err := json.Marshal(result{a.Answer, a.made, a.origin})
	if err != nil {
		return err
	}
	return s.commit("answer", func() error { return s.journal.Answer(s.ctx, s.id, a.want.ID, text) })
}

// byCall returns the want of a call; nil: there is none.
func (x *run) byCall(id string) *want {
	for _, w := range x.wants {
		if w.id == id {
			return w
		}
	}
	return nil
}

// putAway stores the script, if it is not stored as it is, and frees its memory.
func (x *run) putAway(ctx context.Context) error {
	if x.store == nil {
		return nil
	}
	state := journal.Running
	if x.flying == 0 && !x.store.stops() {
		state = journal.Waiting
	}
	if err := x.store.save(ctx, state, 0); err != nil {
		return err
	}
	x.close()
	return nil
}

// back brings the script's memory back.
func (x *run) back(ctx context.Context) error {
	if x.vm != nil {
		return nil
	}
	s, _, err := x.store.journal.Get(ctx, x.Scope.Principal, x.store.id)
	if err != nil {
		return err
	}
	return x.wake(ctx, s)
}

// wake resumes the script from its snapshot.
func (x *run) wake(ctx context.Context, s journal.Script) error {
	if err := x.store.at("before resume"); err != nil {
		return err
	}
	engine, err := x.engines.For(ctx, s.Runtime)
	if err != nil {
		return err
	}
	state, err := x.store.key.unseal(s.ID, s.Snapshot)
	if err != nil {
		return err
	}
	if x.vm, err = engine.Resume(state, x.Scope.Principal, x.store.stopping()); err != nil {
		return err
	}
	return x.store.at("after resume")
}

// decided launches the calls that a person has decided about.
func (x *run) decided(ctx context.Context, launch func(*want)) error {
	rows, err := x.store.journal.Wants(ctx, x.store.id)
	if err != nil {
		return err
	}
	for _, row := range rows {
		w := x.wants[row.Number]
		if w == nil || !w.landed || row.Verdict == nil {
			continue
		}
		if err := x.judge(w, row.Verdict); err != nil {
			return err
		}
		launch(w)
	}
	return nil
}

// judge takes what a person has answered about a want.
func (x *run) judge(w *want, verdict json.RawMessage) error {
	w.verdict, w.parked, w.landed, w.asked = &Verdict{}, false, false, false
	if err := json.Unmarshal(verdict, w.verdict); err != nil {
		return err
	}
	if v := w.verdict; v.Allow && v.Later && w.question != nil && v.Digest == w.question.Digest {
		if x.Allowed == nil {
			x.Allowed = map[string]string{}
		}
		x.Allowed[w.Tool] = w.question.Identity
	}
	return nil
}

// resume returns the function that toEnd begins with: it brings back what is stored.
func (x *run) resume(s journal.Script, rows []journal.Want) func(context.Context) (scriptvm.State, error) {
	return func(ctx context.Context) (state scriptvm.State, err error) {
		if len(s.Kept) > 0 {
			if err := json.Unmarshal(s.Kept, &x.kept); err != nil {
				return state, err
			}
		}
		if s.Runtime == "" {
			return x.start(ctx)
		}
		if err := x.back(ctx); err != nil { // reads the snapshot when there is room for it
			return state, err
		}
		x.store.steps, x.store.saved = 0, 0
		for _, row := range rows {
			if err := x.recall(row); err != nil {
				return state, err
			}
		}
		return state, nil
	}
}

// recall takes a want as it was stored.
func (x *run) recall(row journal.Want) error {
	var v stored
	if err := json.Unmarshal(row.Want, &v); err != nil {
		return err
	}
	w := &want{Want: v.Want, number: v.Number, stored: true, begun: row.Step != journal.Asked}
	if w.Kind == "call" {
		w.id = x.callID(w.number)
	}
	x.wants[w.ID] = w
	if row.Question != nil {
		w.question = &Question{}
		if err := json.Unmarshal(row.Question, w.question); err != nil {
			return err
		}
	}
	if row.Verdict != nil {
		if err := x.judge(w, row.Verdict); err != nil {
			return err
		}
	}
	switch {
	case row.Step == journal.Ended:
		var r result
		if err := json.Unmarshal(row.Answer, &r); err != nil {
			return err
		}
		x.flying++
		return x.take(answered{Answer: r.Answer, want: w, made: r.Made, origin: r.Origin})
	case w.begun && x.store.repeats(w.Tool) == Once:
		x.flying++
		a := x.refuse(answered{Answer: scriptvm.Answer{ID: w.ID}, want: w, made: Made{Tool: w.Tool}}, UnknownOutcome(w.Tool))
		return x.take(a)
	case row.Question != nil && row.Verdict == nil:
		w.parked, w.landed, w.asked = true, true, true
	default:
		x.store.again = append(x.store.again, w)
	}
	return nil
}

// resumed returns the wants that begin, some again, with a resumed script.
func (x *run) resumed() []*want {
	if x.store == nil {
		return nil
	}
	again := x.store.again
	x.store.again = nil
	return again
}

// UnknownOutcome returns the error of a call of a tool that began in a process that ended.
func UnknownOutcome(name string) *tool.Error {
	return tool.Errorf(tool.OutcomeUnknown, "find out whether it has happened before you call it again", "weir was stopped while %s ran, and what came of it is not known", name)
}

// Approve implements approval.Approver: the answer of a person to this very call, or to all
// of the tool; else the call waits for one.
func (s *storage) Approve(_ context.Context, r approval.Request) (approval.Answer, error) {
	x := s.run
	x.mu.Lock()
	defer x.mu.Unlock()
	w := x.byCall(r.CallID)
	if w == nil {
		return approval.Answer{}, approval.ErrNoPerson
	}
	q := x.question(w, r)
	if v := w.verdict; v != nil && v.Digest == q.Digest {
		if !v.Allow {
			return approval.Answer{Verdict: approval.Refuse, By: v.By}, nil
		}
		return approval.Answer{Verdict: approval.Once, By: v.By}, nil
	}
	if identity, ok := x.Allowed[r.Tool]; ok && identity == r.Identity {
		return approval.Answer{Verdict: approval.Once, By: x.Scope.Principal}, nil
	}
	w.question, w.verdict, w.parked, w.asked = q, nil, true, false
	return approval.Answer{}, approval.ErrLater
}
