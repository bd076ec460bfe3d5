package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weirhost/weir/agent/internal/prompt"
	"github.com/weirhost/weir/agent/parse"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// errEmptyReply is the native failure of a reply with nothing in it.
var errEmptyReply = errors.New("the reply was empty")

// A run is one turn while it runs. It is used by one goroutine; only the calls
// of one round leave it.
type run struct {
	l     *Loop
	cfg   Config
	ctx   context.Context
	began time.Time
	clock *clock
	setup

	turn   int
	msgs   []Message
	old    int // index of the first message that is not of the history
	start  int // index of the question
	memory int // index of the first message that is sent
	raw    []float64

	ids        map[string]bool
	lastID     int
	same       map[string]int // calls by tool and arguments
	isRepeated bool
	thrashing  map[string]bool // results that this turn loaded too often
	keeps      map[string]*limit.Keep

	reply          *reply
	out            []outcome
	nativeFailures int
	plan           plan
	draft          string // an answer that is being checked
	draftAt        int

	pending       []tool.Call // calls of the caller's tools
	hasCalled     bool        // a reply has called, or need not any more
	choiceTold    bool
	choiceRefused bool // the provider does not let itself be told which tool to call

	final    Reason // set: the next request is the last one
	insisted bool   // that request came to nothing and was repeated, once
	reason   Reason
	answer   string
	usage    Usage
	spent    int // tokens
	stats    Stats
}

// begin opens the turn of a new question.
func (r *run) begin(history []Message, question string) phase {
	for _, m := range history {
		r.turn = max(r.turn, m.Turn)
	}
	r.turn++
	r.setUp(history, len(history), question)
	r.closePending()
	r.start = len(r.msgs)
	r.add(Message{Role: RoleUser, Text: question, Turn: r.turn, Locale: r.locale, At: r.cfg.Now()})
	r.tellStart()
	if r.cfg.EnablePlanning && len(r.specs) > 0 {
		r.openPlan()
	}
	p := phaseAsk
	r.prefetch(&p)
	return p
}

// setUp takes over the history, of which the messages up to end are of earlier
// turns, and decides what the turn runs with.
func (r *run) setUp(history []Message, end int, question string) {
	r.old = len(history)
	r.msgs = slices.Clone(history)
	for i := range r.msgs {
		r.msgs[i].Results = slices.Clone(r.msgs[i].Results)
		if r.msgs[i].Turn != r.turn { // it was for that turn's calls
			r.msgs[i].Sealed = nil
		}
	}
	r.setup = r.l.setUp(r.ctx, history[:end], question)
	r.ids = usedIDs(history)
	r.memory = end
	if r.cfg.EnableMemory {
		r.memory = memoryStart(history[:end], r.cfg.MemoryLimit, r.window, r.mode)
	}
}

func (r *run) tellStart() {
	defer r.tellTools()
	r.emit(TurnStart{Turn: r.turn, Model: r.info.Name, Mode: r.mode, Window: r.window, Limit: r.limit, Why: r.why, Locale: r.locale})
}

func (r *run) emit(e Event) { r.l.obs.Observe(e) }

func (r *run) add(m Message) { r.msgs = append(r.msgs, m) }

// prefetch makes the calls that the person and the configuration ask for, and
// steers the machine to them.
func (r *run) prefetch(p *phase) {
	question := r.msgs[r.start].Text
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
	for _, name := range r.cfg.Prefetch {
		for _, s := range r.specs {
			if args := prompt.QuestionArguments(s, question); s.Name == name && args != nil {
				ahead(name, args, formatPrefetch)
			}
		}
	}
	if len(rep.calls) > 0 {
		r.reply = rep
		*p = phaseCall
	}
}

// callPhase records the reply and runs its calls.
func (r *run) callPhase() (phase, error) {
	m := r.assistant(strings.TrimSpace(r.reply.text.String()))
	m.Calls, m.Native, m.Sealed = r.reply.calls, r.reply.native, r.reply.sealed
	r.add(m)
	if !r.reply.prefetch {
		r.plan.heard(m.Text)
		r.hasCalled = true
	}
	own, bad := r.passOn(m.Calls)
	if len(own) == 0 {
		return r.await(), nil
	}
	var err error
	r.out, err = r.callAll(own, bad)
	if err != nil {
		r.pending = nil
		r.add(r.fit(r.out))
		return phaseEnd, err
	}
	return phaseFit, nil
}

// fitPhase adds the round's results and what the model has to be told with them.
func (r *run) fitPhase() phase {
	r.makeRoomFor(r.out)
	r.add(r.fit(r.out))
	misused := len(r.reply.bad) > 0
	for _, o := range r.out {
		if e := o.result.Err; e != nil && (e.Code == tool.BadArgs || e.Code == tool.UnknownTool) {
			misused = true
		}
	}
	r.out = nil
	if len(r.pending) > 0 {
		return r.await()
	}
	w := prompt.For(r.locale)
	if r.isRepeated || r.stats.Calls > 0 && r.stats.Calls >= r.cfg.MaxToolCalls {
		for _, m := range r.reply.malformed { // there is no further call to correct it
			r.emit(MalformedCall{Malformed: m})
		}
	}
	switch {
	case r.isRepeated:
		r.endBy(ReasonRepeated, w.Repeated)
	case r.stats.Calls > 0 && r.stats.Calls >= r.cfg.MaxToolCalls:
		r.endBy(ReasonMaxCalls, fmt.Sprintf(w.CallsUsedUp, r.cfg.MaxToolCalls))
	case len(r.reply.malformed) > 0:
		return r.correct()
	case misused && !r.mayCorrect():
		r.endBy(ReasonMalformed, "")
	default:
		if text := r.plan.state(w); text != "" {
			r.add(note(text, r.turn, r.locale))
		}
	}
	return phaseAsk
}

// correct sends back what could not be read, a limited number of times.
func (r *run) correct() phase {
	bad := r.reply.malformed
	if len(r.reply.calls) == 0 {
		text := r.reply.text.String()
		for _, m := range bad {
			text += m.Raw
		}
		r.add(r.assistant(strings.TrimSpace(text)))
	}
	may := r.mayCorrect()
	var notes []string
	for _, m := range bad {
		told := ""
		if may {
			told = parse.Correction(m, r.specs, r.locale)
			notes = append(notes, told)
		}
		r.emit(MalformedCall{Malformed: m, Note: told})
	}
	if !may {
		r.endBy(ReasonMalformed, "")
		return phaseAsk
	}
	r.add(note(strings.Join(slices.Compact(notes), "\n\n"), r.turn, r.locale))
	return phaseAsk
}

// blameTools counts a failure of native tool calling. It returns false when
// the failure is not one; otherwise the model is asked again, by prompt once
// native calling has failed too often.
func (r *run) blameTools(err error) bool {
	refused := IsModelCode(err, ModelBadRequest) && mentionsTools(err)
	if !refused && !IsModelCode(err, ModelGarbage) && err != errEmptyReply {
		return false
	}
	r.nativeFailures++
	if refused || r.nativeFailures >= 2 {
		r.usePrompt(err.Error())
	}
	return true
}

func mentionsTools(err error) bool {
	s := strings.ToLower(err.Error())
	var me *ModelError
	if errors.As(err, &me) && me.Err != nil {
		s += strings.ToLower(me.Err.Error())
	}
	return strings.Contains(s, "tool") || strings.Contains(s, "function")
}

// usePrompt goes on by prompt. The stored messages are neutral; they are
// rendered anew.
func (r *run) usePrompt(why string) {
	r.emit(ModeSwitched{From: r.mode, To: ModePrompt, Why: why})
	r.mode = ModePrompt
	r.raw = nil
	r.writeSystem()
	r.tellTools()
}

// answerDangling gives every call that has no result one that says so, because
// providers refuse a history with unanswered calls.
func (r *run) answerDangling() {
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
	for _, m := range r.msgs[r.start:] {
		if m.Reasoning != "" {
			parts = append(parts, m.Reasoning)
		}
	}
	return strings.Join(parts, "\n\n")
}
