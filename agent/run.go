package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/weirhost/weir/agent/internal/prompt"
	"github.com/weirhost/weir/agent/parse"
	"github.com/weirhost/weir/agent/parse/correction"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// A run is the state of one turn. One goroutine uses it; only the calls of a round
// run in others.
type run struct {
	l   *Loop
	cfg Config
	ctx context.Context
	setup

	turn int
	msgs []Message // the history and this turn
	ids  callIDs

	answering answering
	memory    memory
	round     round
	budget    budget
	plan      plan
	draft     draft
	choice    choiceState
	ending    ending
	quotes    quotes
	shown     shown
	sources   sources

	highlights map[string]*limit.Highlights // by tool
}

// memory is what the next request holds of the messages, and what it costs.
type memory struct {
	history    int             // index of the first message that is not of the history
	saved      int             // index of the first message that no Checkpoint has
	question   int             // index of the question
	first      int             // index of the first message that is sent
	opening    int             // index of the first question, if head is not nil
	head       []Message       // what is sent in place of those before it; nil: nothing
	headTokens float64         // of head, uncalibrated
	tokens     []float64       // uncalibrated, by message; 0: not counted yet
	thrashing  map[string]bool // results that this turn loaded too often
}

// round is one reply of the model and its calls.
type round struct {
	reply    *reply
	outcomes []outcome
	pending  []tool.Call // calls of the caller's tools
	repeated bool        // the third equal call was refused
}

// budget is what the turn has used.
type budget struct {
	began          time.Time
	clock          *clock
	tokens         int
	usage          Usage
	stats          Stats
	sameCalls      map[string]int // by tool and arguments
	nativeFailures int
	refused        int // replies in which the provider refused tools by name
}

// draft is an answer that is being checked against the results.
type draft struct {
	text string
	at   int // index of its message
}

// choiceState is how far Config.Choice is satisfied.
type choiceState struct {
	called  bool // a reply has called a tool
	sent    bool // the model was asked to call in a note
	refused bool // the provider has no parameter for it
}

// ending is how the turn ends.
type ending struct {
	final    Reason    // set: the next request is the last one
	insisted bool      // that request had no answer and was repeated, once
	empty    bool      // a reply was empty and the model was asked again, once
	faulted  bool      // an answer was wrong and the model was asked again, once
	fault    tool.Text // of the answer
	reason   Reason
	answer   string
	thought  string // of the last reply, if it had no text: no message has it
}

// callIDs emits the ids of calls, each once in a conversation.
type callIDs struct {
	used map[string]bool
	last int // the number of the last one that was made
}

// begin opens the turn of a new question.
func (r *run) begin(history []Message, question string, typed Span) phase {
	r.place(history, question, typed)
	r.emitStart()
	r.noteTools()
	if r.cfg.EnablePlanning && len(r.specs) > 0 {
		r.openPlan()
	}
	p := phaseAsk
	r.prefetch(&p)
	return p
}

// place puts a question after the history.
func (r *run) place(history []Message, question string, typed Span) {
	for _, m := range history {
		r.turn = max(r.turn, m.Turn)
	}
	r.turn++
	r.setUp(history, len(history), question)
	r.closePending()
	r.memory.question, r.memory.saved = len(r.msgs), len(r.msgs)+1
	r.add(Message{Role: RoleUser, Text: question, Typed: typed, Turn: r.turn, Locale: r.locale, At: r.cfg.Now()})
}

// setUp copies the history and decides the setup of the turn. The messages before
// end are of earlier turns.
func (r *run) setUp(history []Message, end int, question string) {
	r.memory.history, r.memory.saved = len(history), len(history)
	r.msgs = slices.Clone(history)
	for i := range r.msgs {
		r.msgs[i].Results = slices.Clone(r.msgs[i].Results)
		if r.msgs[i].Turn != r.turn { // it was for that turn's calls
			r.msgs[i].Sealed = nil
		}
	}
	r.setup = r.decide(history[:end], question)
	r.ids.used = usedIDs(history)
	r.quotes.marked = len(history)
	r.forget(end)
}

func (r *run) emitStart() {
	defer r.emitTools()
	r.emit(TurnStart{Turn: r.turn, Model: r.modelName(), Mode: r.mode, Window: r.window, Limit: r.limit, Why: r.why, Locale: r.locale, Tools: len(r.specs), SystemChars: r.systemChars})
	r.warnOfPrompt()
}

// emit reports an event, and notes it at the last message if people see it there.
func (r *run) emit(e Event) {
	switch e.(type) {
	case TextDelta, ReasoningDelta:
		r.answering.told = true
	}
	if said, ok := remark(e); ok {
		last := &r.msgs[len(r.msgs)-1]
		last.Remarks = append(slices.Clip(last.Remarks), said)
		r.changed(len(r.msgs) - 1)
	}
	r.l.obs.Observe(e)
}

func (r *run) add(m Message) { r.msgs = append(r.msgs, m) }

// prefetch prepares the calls that the person and the configuration ask for, and
// makes running them the first phase.
func (r *run) prefetch(p *phase) {
	question := r.msgs[r.memory.question].Text
	rep := &reply{native: r.mode == ModeNative, prefetch: true}
	ahead := func(name string, args json.RawMessage, f parse.Format) {
		c := tool.Call{ID: r.newID(""), Tool: name, Args: args, Turn: r.turn}
		rep.calls = append(rep.calls, c)
		r.emit(CallStart{Call: c, Format: f})
	}
	for _, c := range r.cfg.Preload {
		if prompt.HasTool(r.specs, c.Tool) {
			ahead(c.Tool, c.Args, formatPreload)
		}
	}
	if len(rep.calls) == 0 { // the person has not said what to load
		if args := r.recall(); args != nil {
			ahead(prompt.LoadTool, args, formatTrigger)
		}
	}
	for _, f := range r.cfg.Prefetch {
		for _, s := range r.specs {
			if args := prompt.QuestionArguments(s, question, f.Args); s.Name == f.Tool && args != nil {
				ahead(s.Name, args, formatPrefetch)
			}
		}
	}
	if len(rep.calls) > 0 {
		r.round.reply = rep
		*p = phaseCall
	}
}

// callPhase records the reply with its calls.
func (r *run) callPhase() phase {
	r.refuseQuotes()
	m := r.assistant(strings.TrimSpace(r.round.reply.text.String()))
	m.Calls, m.Native, m.Sealed = r.round.reply.calls, r.round.reply.native, r.round.reply.sealed
	r.add(m)
	if !r.round.reply.prefetch {
		r.plan.advance(m.Text)
		r.choice.called = true
	}
	return phaseMake
}

// makePhase runs the calls of the reply.
func (r *run) makePhase() (phase, error) {
	own, bad := r.splitCallerCalls(r.round.reply.calls)
	if len(own) == 0 {
		return r.suspend(), nil
	}
	err := r.checkpoint()
	if err != nil {
		return phaseEnd, err
	}
	r.round.outcomes, err = r.callAll(own, bad)
	if err != nil {
		r.round.pending = nil
		r.add(r.fit(r.round.outcomes))
		return phaseEnd, err
	}
	return phaseFit, nil
}

// fitPhase adds the round's results, and notes for the model.
func (r *run) fitPhase() phase {
	r.makeRoomFor(r.round.outcomes)
	r.add(r.fit(r.round.outcomes))
	misused := len(r.round.reply.bad) > 0
	for _, o := range r.round.outcomes {
		if e := o.result.Err; e != nil && (e.Code == tool.BadArgs || e.Code == tool.UnknownTool) {
			misused = true
		}
	}
	r.round.outcomes = nil
	if len(r.round.pending) > 0 {
		return r.suspend()
	}
	w := prompt.For(r.locale)
	if r.round.repeated || r.budget.stats.Calls > 0 && r.budget.stats.Calls >= r.cfg.MaxToolCalls {
		for _, m := range r.round.reply.malformed { // there is no further call to correct it
			r.emit(MalformedCall{Malformed: m})
		}
	}
	switch {
	case r.round.repeated:
		r.endWith(ReasonRepeated, w.Repeated)
	case r.budget.stats.Calls > 0 && r.budget.stats.Calls >= r.cfg.MaxToolCalls:
		r.endWith(ReasonMaxCalls, fmt.Sprintf(w.CallsUsedUp, r.cfg.MaxToolCalls))
	case len(r.round.reply.malformed) > 0:
		return r.correct()
	case misused && !r.mayCorrect():
		r.endWith(ReasonMalformed, "")
	default:
		if text := r.plan.state(w); text != "" {
			r.add(note(text, r.turn, r.locale))
		}
	}
	return phaseAsk
}

// correct asks the model to correct malformed calls, a limited number of times.
func (r *run) correct() phase {
	bad := r.round.reply.malformed
	if len(r.round.reply.calls) == 0 {
		seen := r.round.reply.text.String()
		text := seen
		for _, m := range bad {
			text += m.Raw
		}
		if r.round.reply.held {
			seen = ""
		}
		m := r.assistant(strings.TrimSpace(text))
		m.Unseen = utf8.RuneCountInString(m.Text) - utf8.RuneCountInString(strings.TrimSpace(seen))
		r.add(m)
	}
	may := r.mayCorrect()
	var notes []string
	for _, m := range bad {
		told := ""
		if may {
			if told = r.correction(m, notes...); !slices.Contains(notes, told) {
				notes = append(notes, told)
			}
		}
		r.emit(MalformedCall{Malformed: m, Note: told})
	}
	if !may {
		r.endWith(ReasonMalformed, "")
		return phaseAsk
	}
	r.add(note(strings.Join(notes, "\n\n"), r.turn, r.locale))
	return phaseAsk
}

// unsaid returns the lines of a text to the model that neither a note or a result of this
// turn nor said has; if that is nothing, a sentence that says so.
func (r *run) unsaid(text string, said ...string) string {
	said = slices.Clone(said)
	for _, m := range r.msgs[min(len(r.msgs), r.memory.question+1):] {
		if m.Role == RoleNote {
			said = append(said, m.Text)
		}
		for _, e := range m.Results {
			said = append(said, e.Text)
		}
	}
	lines := slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool {
		return strings.TrimSpace(line) != "" && slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, line) })
	})
	if left := strings.TrimSpace(strings.Join(lines, "\n")); left != "" {
		return left
	}
	return fmt.Sprintf(prompt.For(r.locale).Again, max(1, r.budget.stats.Corrections))
}

// correction tells the model what is wrong with a call, and how to write it: what was not
// told it before, in this turn or by said.
func (r *run) correction(m parse.Malformed, said ...string) string {
	if box, ok := r.box.(Explainer); ok && m.Reason == parse.ReasonUnknownTool {
		if fail := box.Absent(m.Name); fail != nil {
			return r.unsaid(strings.TrimSpace(fail.Msg+"\n"+fail.Hint), said...)
		}
	}
	specs := r.specs
	if m.Reason == parse.ReasonUnknownTool && r.searches() && len(correction.Nearest(m.Name, specs)) == 0 {
		specs = nil // there are many: it is told to search
	}
	text := correction.For(m, specs, r.locale)
	if m.Reason == parse.ReasonUnknownTool && r.searches() {
		text += "\n" + prompt.For(r.locale).FindInstead
	}
	return r.unsaid(text, said...)
}

// cancelUnanswered adds a result to every call that has none, because providers
// refuse a history with unanswered calls.
func (r *run) cancelUnanswered() {
	last := len(r.msgs) - 1
	if m := r.msgs[last]; m.Role == RoleAssistant && len(m.Calls) > 0 {
		res := Message{Role: RoleResults, Turn: r.turn, Locale: r.locale, At: r.cfg.Now()}
		for _, c := range m.Calls {
			res.Results = append(res.Results, r.refusal(c, &tool.Error{Code: tool.Cancelled, Msg: prompt.For(r.locale).Cancelled}))
		}
		r.add(res)
	}
}

// reasoning joins what the model thought in this turn.
func (r *run) reasoning() string {
	var parts []string
	for _, m := range r.msgs[r.memory.question:] {
		if m.Reasoning != "" {
			parts = append(parts, m.Reasoning)
		}
	}
	if r.ending.thought != "" {
		parts = append(parts, r.ending.thought)
	}
	return strings.Join(parts, "\n\n")
}
