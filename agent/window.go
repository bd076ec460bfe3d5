package agent

import (
	"slices"
	"unicode/utf8"

	"github.com/weirhost/weir/agent/internal/prompt"
	"github.com/weirhost/weir/agent/internal/tokens"
	"github.com/weirhost/weir/sdk/tool"
)

// When the next request would pass fullShare of the window, the turn's oldest
// results fold in one batch, down to foldShare.
const (
	fullShare = 0.8
	foldShare = 0.5
	// memoryShare is the part of the window that earlier turns may take before
	// the oldest are dropped, down to half of it.
	memoryShare = 0.5
	// leastAnswer is the room, in tokens, without which asking is pointless.
	leastAnswer = 64
	// leastRoom is the room beside the system prompt, in tokens, without which a question
	// with a result does not fit.
	leastRoom = 256
	// longPrompt is the length of a system prompt, in characters, that the window of a
	// model may be too small for if it is unknown.
	longPrompt = 32_000
)

// warnOfPrompt tells when the system prompt is long for the window.
func (r *run) warnOfPrompt() {
	long := r.systemChars > longPrompt
	if r.window > 0 {
		room := min(r.window-r.reserve, int(float64(r.window)*fullShare))
		long = r.systemTokens()+leastRoom > room
	}
	if long {
		r.emit(LongPrompt{Chars: r.systemChars, Tokens: r.systemTokens(), Window: r.window})
	}
}

// promptTokens estimates the next request.
func (r *run) promptTokens() int {
	sum := r.systemRaw + r.memory.headTokens
	for i := r.memory.first; i < len(r.msgs); i++ {
		if i >= len(r.memory.tokens) {
			r.memory.tokens = append(r.memory.tokens, make([]float64, i+1-len(r.memory.tokens))...)
		}
		if r.memory.tokens[i] == 0 {
			r.memory.tokens[i] = rawMessage(r.msgs[i], r.mode, r.declared())
		}
		sum += r.memory.tokens[i]
	}
	return int(sum*r.cfg.Estimator.scale() + 0.999)
}

// rawMessage is the uncalibrated estimate of one message as it is sent.
func rawMessage(m Message, mode Mode, declared func(string) bool) float64 {
	var sum float64
	for _, c := range chatMessages([]Message{m}, mode, declared) {
		sum += tokens.PerMessage + tokens.Count(c.Text)
		for _, call := range c.Calls {
			sum += tokens.PerMessage + tokens.Count(call.Tool) + tokens.Count(string(call.Args))
		}
	}
	return sum
}

// room returns how many tokens are free below fullShare.
func (r *run) room() int {
	limit := min(r.window-r.reserve, int(float64(r.window)*fullShare))
	return limit - r.promptTokens()
}

// makeRoom folds results if the next request is too long. It returns false if there
// is no room to ask even then.
func (r *run) makeRoom() bool {
	if r.window <= 0 || r.promptTokens() <= int(float64(r.window)*fullShare) {
		return true
	}
	r.foldOldest(int(float64(r.window)*foldShare), lastResults(r.msgs))
	tokens := r.promptTokens()
	if tokens+leastAnswer > r.window {
		return false
	}
	if tokens > int(float64(r.window)*fullShare) {
		r.endWith(ReasonWindow, prompt.For(r.locale).WindowFull)
	}
	return true
}

// makeRoomFor folds earlier results before a round's results are cut to the room.
func (r *run) makeRoomFor(out []outcome) {
	if r.window <= 0 {
		return
	}
	need := 0
	for i := range out {
		if out[i].refused == nil {
			need += r.cfg.Estimator.Tokens(out[i].result.Shown.Text)
		}
	}
	// After a fold one round may take its share of what lies between both marks.
	need = min(need, int(float64(r.window)*(fullShare-foldShare)*roundShare))
	if r.room() < need {
		r.foldOldest(int(float64(r.window)*foldShare), len(r.msgs))
	}
}

// foldOldest folds this turn's results in front of message end, oldest first,
// until the next request takes at most target tokens. What the model has not
// read yet must not lie in front of end.
func (r *run) foldOldest(target, end int) bool {
	var f Folded
	r.hold(end)
	for i := r.memory.question; i < end && r.promptTokens() > target; i++ {
		for j := range r.msgs[i].Results {
			if saved := foldEntry(&r.msgs[i].Results[j], r.msgs[i].Locale); saved > 0 {
				f.add(r.msgs[i].Turn, r.msgs[i].Results[j], saved)
				r.memory.tokens[i] = 0
				r.changed(i)
			}
			if r.promptTokens() <= target {
				break
			}
		}
	}
	if f.SavedChars == 0 {
		return false
	}
	f.MidTurn, f.PromptChars = true, promptChars(r.system, r.msgs[r.memory.first:])
	r.emit(f)
	return true
}

// add adds a result that was folded, which saved so many characters.
func (f *Folded) add(turn int, e ResultEntry, saved int) {
	f.SavedChars += saved
	f.Results = append(f.Results, FoldedResult{turn, e.CallID, e.Text})
	if e.Ref != nil {
		f.UUIDs = append(f.UUIDs, e.Ref.UUID)
	}
}

func lastResults(msgs []Message) int {
	for i, m := range slices.Backward(msgs) {
		if m.Role == RoleResults {
			return i
		}
	}
	return len(msgs)
}

// foldEntry replaces an archived result with its placeholder, and a load with its
// stub, unless that is longer. It returns the characters saved; 0: no change.
func foldEntry(e *ResultEntry, l tool.Locale) int {
	text := ""
	switch {
	case e.Folded || e.Ref == nil && !e.Ephemeral:
		return 0
	case e.Ephemeral:
		text = prompt.Stub(e.Ref, e.Tool, e.Text, l)
	default:
		text = Placeholder(*e.Ref, e.Tool, l)
	}
	saved := utf8.RuneCountInString(e.Text) - utf8.RuneCountInString(text)
	if saved <= 0 {
		return 0
	}
	e.Text, e.Folded = text, true
	return saved
}

// minUnload is the length of the shortest load that becomes a stub, in characters: a stub
// takes some 150, and a shorter load is often the one line that the model was looking for.
const minUnload = 1000

// foldTurn folds at the end of a turn: results whose whole is longer than threshold
// become placeholders, also those of the turn before if it was left with pending
// calls, and loads of at least minUnload characters whose turns have passed become
// stubs. It returns the index of the first message that changed, or len(msgs).
func foldTurn(msgs []Message, turn, threshold int) (first int, f Folded) {
	first = len(msgs)
	for i := range msgs {
		for j := range msgs[i].Results {
			e := &msgs[i].Results[j]
			due := msgs[i].Turn >= turn-1 && threshold >= 0 && e.Chars > threshold
			if e.Ephemeral {
				due = e.KeepUntil <= turn && e.Chars >= minUnload
			}
			if !due {
				continue
			}
			if saved := foldEntry(e, msgs[i].Locale); saved > 0 {
				first = min(first, i)
				f.add(msgs[i].Turn, *e, saved)
			}
		}
	}
	return first, f
}

func promptChars(system string, msgs []Message) int {
	n := utf8.RuneCountInString(system)
	for _, m := range msgs {
		for _, c := range chatMessages([]Message{m}, ModePrompt, nil) {
			n += utf8.RuneCountInString(c.Text)
		}
	}
	return n
}

// memoryStart returns the index of the first message of the history that is sent. It
// depends on the history alone and moves in batches, which keeps a provider's prompt
// cache valid in between: if more than limit messages, or more than memoryShare of
// the window, would be sent, the oldest turns are dropped until half of that is left.
// The last turn is sent unless it alone is too large for the window.
func memoryStart(history []Message, limit, window int, mode Mode) int {
	var turns []int
	for i, m := range history {
		if m.Role == RoleUser {
			turns = append(turns, i)
		}
	}
	if len(turns) == 0 {
		return len(history)
	}
	sums := make([]float64, len(history)+1)
	for i, m := range history {
		sums[i+1] = sums[i]
		if window > 0 {
			sums[i+1] += rawMessage(m, mode, nil)
		}
	}
	most := float64(window) * memoryShare
	fits := func(from, to int, part float64) bool {
		return (limit < 0 || float64(to-from) <= float64(limit)*part) && (window <= 0 || sums[to]-sums[from] <= most*part)
	}
	start := turns[0]
	for i, last := range turns {
		end := len(history)
		if i+1 < len(turns) {
			end = turns[i+1]
		}
		if fits(start, end, 1) {
			continue
		}
		for _, t := range turns[:i+1] {
			if t > start && fits(t, end, 0.5) || t == last {
				start = t
				break
			}
		}
		if window > 0 && sums[end]-sums[start] > most {
			start = end
		}
	}
	return start
}
