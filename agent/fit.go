package agent

import (
	"strings"

	"github.com/weirhost/weir/agent/internal/prompt"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

const (
	// roundShare is the part of the free window that one round's results may fill.
	roundShare = 0.4
	// loneShare is the part that they may fill where roundShare is less than the agent's
	// limit for one result. What is left holds the lines around the results.
	loneShare = 0.9
)

// fit brings a round's results under the agent's limits and makes the message
// that the model reads. Each result is cut again from its whole, once, under
// the lowest of the caps; the host's own view stays where no cap is lower.
func (r *run) fit(out []outcome) Message {
	m := Message{Role: RoleResults, Turn: r.turn, Locale: r.locale, At: r.cfg.Now()}
	r.markRepeats(out)
	r.capEach(out)
	r.shareRound(out)
	r.capLoads(out)
	for i := range out {
		o := &out[i]
		if o.refused != nil {
			m.Results = append(m.Results, r.refusal(o.call, o.refused))
			continue
		}
		e := r.entry(o)
		m.Results = append(m.Results, e)
		r.count(o.result)
		if o.found != nil {
			r.emit(*o.found)
		}
		r.emit(CallEnd{Result: o.result, Text: e.Text, Elapsed: o.elapsed})
		o.result.Release()
	}
	return m
}

// refusal answers a call that did not run to its end.
func (r *run) refusal(c tool.Call, e *tool.Error) ResultEntry {
	text := prompt.ResultText(e.Msg)
	r.emit(CallEnd{Result: tool.Result{CallID: c.ID, Tool: c.Tool, Err: e}, Text: text})
	return ResultEntry{CallID: c.ID, Tool: c.Tool, Text: text, Err: true, Confirm: r.round.reply.confirm[c.ID]}
}

// entry renders a result, once. Its text does not change until it folds.
func (r *run) entry(o *outcome) ResultEntry {
	res := o.result
	e := ResultEntry{
		CallID: res.CallID, Tool: res.Tool, Text: prompt.Fence(r.rendered(o)),
		Ref: res.Ref, Chars: res.Shown.TotalChars, Err: res.Err != nil, Ephemeral: res.Ephemeral || isLoad(res),
	}
	r.keepError(res.CallID, res.Err)
	e.Sources, e.Cite = r.sourcesOf(o)
	if e.Ephemeral {
		e.KeepUntil = r.keepUntil(res)
	}
	if isLoad(res) {
		e.Ref = &tool.Ref{UUID: res.Load.UUID}
		if told := r.countLoad(res); told != "" {
			e.Text = strings.TrimSuffix(e.Text, "\n") + "\n" + told
		}
	}
	return e
}

// rendered returns a result as the model reads it. Rendering a long result is slow,
// so each view is rendered once.
func (r *run) rendered(o *outcome) string {
	if o.text == "" {
		o.text = limit.Render(o.result, r.locale)
	}
	return o.text
}

// show replaces the view of a result.
func (o *outcome) show(v tool.View) { o.result.Shown, o.text = v, "" }

// markRepeats replaces results that this turn already shows, whole or cut, with one
// line each. A text that was folded since is shown again.
func (r *run) markRepeats(out []outcome) {
	seen := map[string]bool{}
	for _, m := range r.msgs[r.memory.question:] {
		for _, e := range m.Results {
			if e.Ref != nil && !e.Folded && !e.Ephemeral {
				seen[e.Ref.UUID] = true
			}
		}
	}
	for i := range out {
		res := &out[i].result
		if out[i].refused != nil || res.Ref == nil || res.Err != nil || isLoad(*res) {
			continue
		}
		if seen[res.Ref.UUID] {
			res.Repeat = true
			out[i].show(tool.View{TotalChars: res.Shown.TotalChars, TotalLines: res.Shown.TotalLines})
		}
		seen[res.Ref.UUID] = true
	}
}

func isLoad(res tool.Result) bool { return res.Load != nil }

// isLimited reports whether the limits of the agent and the round apply.
func (o *outcome) isLimited() bool { return o.refused == nil && !o.unlimited && !isLoad(o.result) }

// capEach lowers every result to the agent's limit.
func (r *run) capEach(out []outcome) {
	for i := range out {
		if o := &out[i]; o.isLimited() {
			r.recut(o, r.limit, tool.LayerAgent)
		}
	}
}

// recut cuts a result again, from its whole, if its view is longer than chars.
func (r *run) recut(o *outcome, chars int, layer tool.Layer) {
	if chars <= 0 || r.chars(o) <= chars {
		return
	}
	res := o.result
	host, by := r.hostLimits(res)
	l, by := limit.Lower(host, by, chars, layer)
	if res.Shown.Summarized { // a summary was paid for and says more than a cut
		o.show(limit.Summary(res.Shown.Text, res.Whole(), l, by))
		return
	}
	o.show(r.highlightsOf(res.Tool, l.Keep).Fit(res, l, by))
}

// highlightsOf compiles the keep expressions of a tool, once in a turn.
func (r *run) highlightsOf(name string, exprs []string) *limit.Highlights {
	k, ok := r.highlights[name]
	if !ok {
		if r.highlights == nil {
			r.highlights = map[string]*limit.Highlights{}
		}
		k = limit.CompileHighlights(exprs)
		r.highlights[name] = k
	}
	return k
}

// hostLimits returns the limits that the host cut the result with. The number of
// characters is left out: it is what is shown. So are the lines, where the host showed
// more than the tool's own limit for this agent.
func (r *run) hostLimits(res tool.Result) (tool.Limits, limit.By) {
	by := limit.By{Chars: tool.LayerTool, Lines: tool.LayerTool}
	if res.Shown.By != tool.LayerNone && res.Shown.Unit == tool.Lines {
		by.Lines = res.Shown.By
	}
	for _, s := range r.specs {
		if s.Name == res.Tool {
			l := s.Output
			l.MaxChars, l.OpenEnded = 0, false
			if _, lines := limit.Count(res.Shown.Text); l.MaxLines > 0 {
				l.MaxLines = max(l.MaxLines, lines)
			}
			return l, by
		}
	}
	return tool.Limits{}, by
}

// chars returns the length of a result as the model reads it.
func (r *run) chars(o *outcome) int {
	chars, _ := limit.Count(r.rendered(o))
	return chars
}

// shareRound divides the round's budget over its results, loads not counted.
func (r *run) shareRound(out []outcome) {
	var sizes, index []int
	for i := range out {
		if o := &out[i]; o.isLimited() {
			sizes = append(sizes, r.chars(o))
			index = append(index, i)
		}
	}
	if len(sizes) == 0 {
		return
	}
	for j, chars := range limit.Share(sizes, r.roundBudget(out)) {
		if chars < sizes[j] {
			r.recut(&out[index[j]], chars, tool.LayerRound)
		}
	}
}

// roundBudget returns the most characters of one round's results together; 0: no
// bound. They may have the agent's limit for one result at least, if the window has room
// for it: the only result of a round is cut by that limit and not by a share.
func (r *run) roundBudget(out []outcome) int {
	if n := r.cfg.RoundChars; n != nil && *n >= 0 {
		return *n
	}
	if r.window <= 0 {
		return DefaultRoundChars
	}
	room := float64(r.room())
	return max(1, r.charsFor(int(room*roundShare), out), min(r.limit, r.charsFor(int(room*loneShare), out)))
}

// capLoads cuts loads to the room that is left. The notice names the offset at which
// the rest begins.
func (r *run) capLoads(out []outcome) {
	var loads, others []int
	for i := range out {
		switch o := &out[i]; {
		case o.refused == nil && isLoad(o.result):
			loads = append(loads, i)
		case o.refused == nil:
			others = append(others, i)
		}
	}
	if len(loads) == 0 {
		return
	}
	chars := DefaultLoadChars
	if r.window > 0 {
		left := r.room()
		for _, i := range others {
			left -= r.cfg.Estimator.Tokens(r.rendered(&out[i]))
		}
		chars = max(tool.MinMaxChars, r.charsFor(left, out)/len(loads))
	}
	if r.cfg.LoadChars > 0 {
		chars = min(chars, r.cfg.LoadChars)
	}
	for _, i := range loads {
		o := &out[i]
		chars := max(tool.MinMaxChars, chars-r.pinNoteChars(o.result))
		// The host shows a first page; with more room here it may be longer.
		if o.result.Shown.Cut() || r.chars(o) > chars {
			l := tool.Limits{MaxChars: chars, Strategy: tool.HeadOnly}
			o.show(limit.Fit(o.result, l, limit.By{Chars: tool.LayerLoad, Lines: tool.LayerLoad}))
		}
	}
}

// charsFor converts tokens to characters by the ratio of this round's results.
func (r *run) charsFor(tokens int, out []outcome) int {
	chars, est := 0, 0
	for i := range out {
		text := out[i].result.Shown.Text
		n, _ := limit.Count(text)
		chars += n
		est += r.cfg.Estimator.Tokens(text)
	}
	if chars == 0 || est == 0 || tokens <= 0 {
		return 0
	}
	return int(float64(tokens) * float64(chars) / float64(est))
}

func (r *run) count(res tool.Result) {
	shown, _ := limit.Count(res.Shown.Text)
	r.budget.stats.ProducedChars += res.Shown.TotalChars
	r.budget.stats.ShownChars += shown
	if res.Ref != nil && !res.Ref.Again && !res.Ephemeral && !isLoad(res) {
		r.budget.stats.KeptChars += res.Ref.Chars
	}
}
