package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/weirhost/weir/agent/internal/prompt"
	"github.com/weirhost/weir/agent/internal/quote"
	"github.com/weirhost/weir/sdk/tool"
)

// sameCalls is how often one call with the same arguments may be made in a
// turn; the last of them is not run.
const sameCalls = 3

// retryDelays are the waits before an idempotent tool is tried again.
var retryDelays = [...]time.Duration{300 * time.Millisecond, 1200 * time.Millisecond}

// longRun is from when on a call takes too long to be made twice without a word to the model.
const longRun = time.Minute

// An outcome is one call's result on its way into the window.
type outcome struct {
	call    tool.Call
	result  tool.Result
	text    string // result as the model reads it; empty: it is not rendered yet
	elapsed time.Duration
	// refused is set if the call did not run or did not finish.
	refused *tool.Error
	// unlimited is set on a result of the caller's that is not archived: a cut would
	// lose text.
	unlimited bool
	stop      error // the Toolbox's: the loop must stop
	panic     any
	found     *ToolsFound // by this call; nil: it searched for none
}

// callAll runs the calls of one round, bounded in parallel, and returns their
// outcomes in call order. The error is the Toolbox's: the loop must stop. The
// outcomes of the calls that did finish are returned all the same.
func (r *run) callAll(calls []tool.Call, bad map[int]*tool.Error) ([]outcome, error) {
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	out := make([]outcome, len(calls))
	slots := make(chan struct{}, r.cfg.Parallel)
	vet, over := r.vetter()
	defer over()
	ctx = context.WithValue(ctx, pauseKey{}, &pauser{r.budget.clock, slots, vet})
	one := func(o *outcome) {
		slots <- struct{}{}
		defer func() { <-slots }()
		if r.callOne(ctx, o); o.stop != nil {
			cancel() // the others' answers will not be read
		}
	}
	var due []*outcome
	for i, c := range calls {
		out[i].call = c
		if out[i].refused = r.checkCall(c, bad[i]); out[i].refused == nil {
			r.budget.stats.Calls++
			due = append(due, &out[i])
		}
	}
	if len(due) == 1 { // as nearly always: it needs no goroutine
		one(due[0])
	} else {
		var wg sync.WaitGroup
		for _, o := range due {
			wg.Go(func() { one(o) })
		}
		wg.Wait()
	}
	var stop error
	for _, o := range out {
		if o.panic != nil {
			panic(o.panic) // where the caller can recover it
		}
		if stop == nil || r.ctx.Err() == nil && errors.Is(stop, context.Canceled) {
			stop = cmp.Or(o.stop, stop)
		}
	}
	return out, stop
}

// callOne runs one call into its outcome.
func (r *run) callOne(ctx context.Context, o *outcome) {
	defer func() { o.panic = recover() }()
	start := time.Now()
	if o.call.Tool == prompt.FindTool && r.searches() {
		o.result, o.found = r.findTools(ctx, o.call)
	} else {
		o.result, o.stop = r.call(ctx, o.call)
	}
	o.elapsed = time.Since(start)
	if a := o.result.Approval; a != nil { // a person's time is not the tool's
		o.elapsed = max(0, o.elapsed-a.Waited)
	}
	if o.stop != nil {
		o.refused = &tool.Error{Code: tool.Cancelled, Msg: prompt.For(r.locale).Cancelled}
	}
}

// checkCall returns why a call does not run; nil if it runs. bad is an error that was
// found in the reply.
func (r *run) checkCall(c tool.Call, bad *tool.Error) *tool.Error {
	if bad != nil {
		return bad
	}
	key := quote.Call{Tool: c.Tool, Args: c.Args}.Key()
	r.budget.sameCalls[key]++
	if r.budget.sameCalls[key] >= sameCalls {
		r.round.repeated = true
		return &tool.Error{Code: tool.Denied, Msg: prompt.For(r.locale).SameAgain}
	}
	if r.budget.stats.Calls >= r.cfg.MaxToolCalls {
		return &tool.Error{Code: tool.Denied, Msg: fmt.Sprintf(prompt.For(r.locale).NotRun, r.cfg.MaxToolCalls)}
	}
	return nil
}

// call runs one call. An idempotent tool is called again after a temporary failure.
func (r *run) call(ctx context.Context, c tool.Call) (tool.Result, error) {
	if err := ctx.Err(); err != nil {
		return tool.Result{}, err
	}
	if c.Tool == prompt.DescribeTool && r.describes {
		return prompt.Describe(c, r.specs, r.locale), nil
	}
	var most time.Duration // that a call may take
	repeatable := slices.ContainsFunc(r.specs, func(s tool.Spec) bool {
		most = s.Output.Timeout
		return s.Name == c.Tool && s.Hints.Idempotent
	})
	for attempt := 0; ; attempt++ {
		limited := c
		limited.MaxChars = r.limit
		res, err := r.box.Call(ctx, limited)
		if err != nil || !repeatable || attempt >= retries(res.Err, most) {
			res.CallID, res.Tool = c.ID, c.Tool
			return res, err
		}
		if err := wait(ctx, retryDelays[attempt]); err != nil {
			return res, err
		}
	}
}

// retries returns how often a call is repeated after a failure. A timeout has already
// used the tool's whole deadline, so there is at most one retry, and none where the deadline is
// longRun or more.
func retries(e *tool.Error, most time.Duration) int {
	switch {
	case e == nil:
		return 0
	case e.Code == tool.TimedOut && most < longRun:
		return 1
	case e.Code == tool.RateLimited:
		return len(retryDelays)
	}
	return 0
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
