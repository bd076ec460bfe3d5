package agent

import (
	"context"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/weirhost/weir/agent/internal/prompt"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// A result thrashes when it is loaded in thrashLoads of the last thrashTurns
// turns: keeping it would have been cheaper.
const (
	thrashLoads = 3
	thrashTurns = 5
)

// Faults count how often archived text was loaded back.
type Faults struct {
	// Faults are the loads that returned a text, Refaults those of a result that had
	// been loaded and folded before.
	Faults   int `json:"faults"`
	Refaults int `json:"refaults"`
	// Thrash counts the results that this turn loaded and that were loaded in 3
	// or more of the last 5 turns, this one included.
	Thrash int `json:"thrash"`
}

// Fits returns how many characters of each load the model would be shown if the
// question was asked now. history is that of Run, calls are Config.Preload, and
// results what they return. It asks no model and runs no call.
func (l *Loop) Fits(ctx context.Context, history []Message, question string, calls []tool.Call, results []tool.Result) []int {
	r := &run{l: l, cfg: l.cfg, ctx: ctx, answering: answering{model: l.model}}
	r.place(history, question, l.cfg.Typed)
	calls = slices.Clone(calls)
	for i := range calls {
		calls[i].ID = r.newID("")
	}
	r.add(Message{Role: RoleAssistant, Calls: calls, Native: r.mode == ModeNative, Turn: r.turn})
	out := make([]outcome, len(results))
	for i, res := range results {
		out[i].result = res
	}
	r.capLoads(out)
	fits := make([]int, len(out))
	for i := range out {
		fits[i], _ = limit.Count(out[i].result.Shown.Text)
	}
	return fits
}

// countLoad counts one load and returns the line that is added for the model; empty:
// none.
func (r *run) countLoad(res tool.Result) string {
	r.budget.stats.Faults.Faults++
	turns, left := r.loadsOf(res.Load.UUID)
	if left {
		r.budget.stats.Refaults++
	}
	if len(turns) < thrashLoads {
		return ""
	}
	if r.memory.thrashing == nil {
		r.memory.thrashing = map[string]bool{}
	}
	if !r.memory.thrashing[res.Load.UUID] {
		r.memory.thrashing[res.Load.UUID] = true
		r.budget.stats.Thrash++
	}
	if res.Load.KeepTurns > 1 {
		return "" // it is being pinned
	}
	return fmt.Sprintf(prompt.For(r.locale).Pin, len(turns), thrashTurns)
}

// loadsOf returns in which of the last turns a result was loaded, this turn included,
// and whether a load of it has been folded since.
func (r *run) loadsOf(uuid string) (turns map[int]bool, left bool) {
	turns = map[int]bool{r.turn: true}
	for _, m := range r.msgs {
		for _, e := range m.Results {
			if !e.Ephemeral || e.Ref == nil || e.Ref.UUID != uuid {
				continue
			}
			left = left || e.Folded
			if m.Turn > r.turn-thrashTurns {
				turns[m.Turn] = true
			}
		}
	}
	return turns, left
}

// pinNoteChars returns the length of the line of countLoad, in characters; 0: there is
// none.
func (r *run) pinNoteChars(res tool.Result) int {
	if turns, _ := r.loadsOf(res.Load.UUID); len(turns) < thrashLoads || res.Load.KeepTurns > 1 {
		return 0
	}
	return utf8.RuneCountInString(fmt.Sprintf(prompt.For(r.locale).Pin, thrashTurns, thrashTurns)) + 1
}

// keepUntil is the last turn in which an ephemeral result is shown.
func (r *run) keepUntil(res tool.Result) int {
	turns := r.cfg.KeepTurns
	if res.Load != nil && res.Load.KeepTurns > 0 {
		turns = res.Load.KeepTurns
	}
	return r.turn + turns - 1
}
