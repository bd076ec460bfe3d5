package agent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/weirhost/weir/agent/internal/prompt"
	"github.com/weirhost/weir/agent/parse"
	"github.com/weirhost/weir/sdk/tool"
)

// formatNative names a call that came through the provider's own tool calling.
const formatNative parse.Format = "native"

// formatPrefetch names a call that the operator's configuration made,
// formatPreload one that the person asked for.
const (
	formatPrefetch parse.Format = "prefetch"
	formatPreload  parse.Format = "preload"
)

// A reply is what one request came to.
type reply struct {
	text, reasoning strings.Builder
	after           strings.Builder // the text after the last call in the text, which may be an invented result
	apart           bool            // a call is between text and what follows
	whole           strings.Builder // everything as it came, if Config.Raw is set
	calls           []tool.Call
	native          bool                // calls came through the provider's own calling
	raw             []string            // of each call, as the model wrote it; empty: native
	bad             map[int]*tool.Error // index of a call that must not run → why
	confirm         map[string]string   // id of a call that is a quotation → id that confirms it
	malformed       []parse.Malformed
	sealed          json.RawMessage
	usage           Usage
	finish          Finish
	err             error
	left            bool          // it was not read to its end, where usage is
	held            bool          // text was not shown yet
	ignored         bool          // it calls, where calls are over
	late            []tool.Call   // the native ones of these calls
	prefetch        bool          // made by the configuration, not by the model
	first           time.Duration // until something of it came; 0: nothing did
}

// empty reports whether the reply has neither text nor calls.
func (p *reply) empty() bool { return p.isSilent() && len(p.calls) == 0 && len(p.malformed) == 0 }

// isSilent reports whether the reply has no text.
func (p *reply) isSilent() bool { return strings.TrimSpace(p.text.String()) == "" }

// onlyCalls reports whether the reply calls where it may not, or in a way that cannot be
// read, and its text says nothing but that it does.
func (p *reply) onlyCalls() bool {
	return (p.ignored || len(p.malformed) > 0) && parse.OnlyActs(p.text.String())
}

// keep adds a piece to the whole reply, a native call as its name and arguments.
func (p *reply) keep(d Delta) {
	p.whole.WriteString(d.Reasoning)
	p.whole.WriteString(d.Text)
	if d.Call != nil {
		fmt.Fprintf(&p.whole, "\n[native call: %s %s]", d.Call.Tool, d.Call.Args)
	}
}

// refuse keeps a call from running.
func (p *reply) refuse(call int, why *tool.Error) {
	if p.bad == nil {
		p.bad = map[int]*tool.Error{}
	}
	p.bad[call] = why
}

// maxReply bounds what is read of one reply, in bytes: text, thoughts and calls. The longest
// replies that providers allow have a few hundred thousand tokens.
const maxReply = 8 << 20

// stream asks the model once. It stops reading after the reply's calls: when the text
// after them has an invented result, or is long.
func (r *run) stream(req Request) *reply {
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	ctx = OnRepeat(ctx, func(err error, wait time.Duration) { r.emit(ModelRepeated{Err: err, Wait: wait}) })
	if r.mayFallBack() {
		ctx = WithAlternative(ctx)
	}
	p := &reply{held: r.withholdsText()}
	defer r.endAfter(p)
	r.shown.apart = true
	var parser parse.Parser
	read, size := 0, 0 // bytes of text, of everything
	began := time.Now()
	for d, err := range r.answering.model.Generate(ctx, req) {
		if err != nil {
			p.err = err
			break
		}
		size += len(d.Text) + len(d.Reasoning) + len(d.Sealed)
		if d.Call != nil {
			size += len(d.Call.Tool) + len(d.Call.Args)
		}
		if size > maxReply {
			p.err = NewModelError(ModelGarbage, r.info.Name, tool.Textf("the reply is longer than %d MiB, and the rest was not read", maxReply>>20), tool.Textf("ask for less at once, or bound the model's replies at its server"))
			break
		}
		if p.first == 0 && (d.Text != "" || d.Reasoning != "" || d.Call != nil) {
			p.first = time.Since(began)
		}
		if r.cfg.Raw {
			p.keep(d)
		}
		if d.Usage != nil {
			p.usage = *d.Usage
		}
		if d.Finish != "" {
			p.finish = d.Finish
		}
		if d.Sealed != nil {
			p.sealed = d.Sealed
		}
		r.addReasoning(p, d.Reasoning)
		if d.Call != nil {
			if parser != nil && r.mode == ModeNative { // the text so far calls nothing, and is before the call
				r.consume(p, parser.Close(true))
				parser = nil
			}
			r.nativeCall(p, *d.Call)
		}
		if d.Text == "" {
			continue
		}
		if parser == nil {
			parser = r.parser(p)
		}
		if read += len(d.Text); !r.consume(p, parser.Feed(d.Text)) || parser.Over() {
			p.left = true
			return p
		}
	}
	if parser == nil {
		parser = r.parser(p)
	}
	r.consume(p, parser.Close(p.native || p.err != nil || p.finish != FinishStop && p.finish != FinishCalls))
	if r.info.StartInThought && read > 0 && p.reasoning.Len() == read && p.finish == FinishStop {
		r.addText(p, p.reasoning.String()) // the thought never ended: the server had taken it out
	}
	if p.err == nil && p.finish == "" {
		p.err = NewModelError(ModelCut, r.info.Name, tool.Textf("the reply broke off before its end"), tool.Textf("ask again"))
	}
	return p
}

// parser returns a parser for the text of one reply. It begins inside a thought if the
// model's template has opened one and the server does not separate thoughts. Where calls
// come as data, text is text but for one call in marks at its end.
func (r *run) parser(p *reply) parse.Parser {
	return r.kit.Recogniser().Read(parse.Reading{
		StartInThought: r.info.StartInThought && p.reasoning.Len() == 0,
		Marked:         r.mode == ModeNative,
		Shown:          r.asksForCall(),
	})
}

// maxAsked is how long a question may be that nobody typed, in bytes, to be read for what
// it asks.
const maxAsked = 4000

// asksForCall reports whether the person asked how a call is written. What is attached to
// a question does not ask.
func (r *run) asksForCall() bool {
	m := r.msgs[r.memory.question]
	if _, typed, _ := m.Typed.Cut(m.Text); typed != "" {
		return parse.AsksForCall(typed)
	}
	return len(m.Text) <= maxAsked && parse.AsksForCall(m.Text)
}

// consume adds the parser's events. It returns false if the rest of the reply is to
// be ignored.
func (r *run) consume(p *reply, events []parse.Event) bool {
	for _, e := range events {
		switch e := e.(type) {
		case parse.Text:
			switch called := len(p.calls) > 0 && !p.native; {
			case called || p.ignored: // an announcement of the next call, or an invented result
				p.after.WriteString(e.Text)
			default:
				r.addText(p, e.Text)
			}
			if p.ignored && strings.IndexFunc(e.Text, isWordRune) >= 0 {
				return false
			}
		case parse.Reasoning:
			r.addReasoning(p, e.Text)
		case parse.Call:
			r.textCall(p, e)
		case parse.Malformed:
			p.malformed = append(p.malformed, e)
		}
	}
	return true
}

func isWordRune(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }

// addText adds text for the person, without empty lines at its beginning. One empty line
// keeps it apart from the text in front of a call.
func (r *run) addText(p *reply, text string) {
	if p.apart || p.text.Len() == 0 {
		if text = strings.TrimLeft(text, "\r\n"); text == "" {
			return
		}
	}
	if p.apart && p.text.Len() > 0 {
		text = gap(p.text.String()) + text
	}
	p.apart = false
	p.text.WriteString(text)
	if !p.held {
		r.show(text)
	}
}

// endAfter takes the text after the calls of a reply: what says what comes next is for
// the person. All else may be a result that the model invented, and is shown as a thought.
func (r *run) endAfter(p *reply) {
	text := strings.TrimSpace(p.after.String())
	p.after.Reset()
	switch {
	case text == "":
	case !p.ignored && parse.SaysNext(text):
		r.addText(p, text)
	default:
		if p.reasoning.Len() > 0 {
			text = gap(p.reasoning.String()) + text
		}
		r.addReasoning(p, text)
	}
}

// shown is what the person has seen of the turn's text.
type shown struct {
	end   string // its last two bytes
	apart bool   // a call or another reply is between it and what follows
}

// show emits text, after an empty line where it is apart from what was shown before.
func (r *run) show(text string) {
	if r.shown.apart && r.shown.end != "" {
		if text = strings.TrimLeft(text, "\r\n"); text != "" {
			text = gap(r.shown.end) + text
		}
	}
	if text == "" {
		return
	}
	r.shown.apart, r.shown.end = false, (r.shown.end + text)[max(0, len(r.shown.end)+len(text)-2):]
	r.emit(TextDelta{text})
}

// gap returns what is missing of an empty line after text.
func gap(text string) string {
	switch {
	case strings.HasSuffix(text, "\n\n"):
		return ""
	case strings.HasSuffix(text, "\n"):
		return "\n"
	}
	return "\n\n"
}

// startCall reports a call of the reply. The text so far is before it.
func (r *run) startCall(p *reply, e CallStart) {
	r.flushText(p)
	p.apart, r.shown.apart = true, true
	r.emit(e)
}

func (r *run) addReasoning(p *reply, text string) {
	if text != "" {
		p.reasoning.WriteString(text)
		r.emit(ReasoningDelta{text})
	}
}

// flushText emits text that was withheld.
func (r *run) flushText(p *reply) {
	if p.held && r.withholdsRounds() {
		return // unless it is the answer
	}
	r.showHeld(p)
}

// showHeld shows the text of a reply that was held back.
func (r *run) showHeld(p *reply) {
	if p.held {
		r.show(p.text.String())
	}
	p.held = false
}

// callsOver reports whether a reply may not call: it is the last one, or a check.
func (r *run) callsOver() bool { return r.ending.final != "" || r.draft.text != "" }

// textCall adds a call from the text. In a reply that also calls natively it is a
// quotation, and text.
func (r *run) textCall(p *reply, c parse.Call) {
	if p.native {
		r.addText(p, c.Raw)
		return
	}
	if p.ignored = p.ignored || r.callsOver(); p.ignored || r.hasOnlyCall(p) {
		return
	}
	if between := strings.TrimSpace(p.after.String()); between != "" { // the recogniser has found no result in it
		p.after.Reset()
		r.addText(p, between)
	}
	call, problem := r.unwrap(c.Name, c.Args)
	call.ID, call.Turn = r.newID(c.ID), r.turn
	if problem != nil {
		p.refuse(len(p.calls), problem)
	}
	p.calls, p.raw = append(p.calls, call), append(p.raw, c.Raw)
	r.startCall(p, CallStart{Call: call, Format: c.Format, Repaired: c.Repaired})
}

// nativeCall adds a call of the provider's tool calling. A call that cannot run is
// answered, because providers want an answer to every call.
func (r *run) nativeCall(p *reply, c tool.Call) {
	if p.ignored = p.ignored || r.callsOver(); p.ignored {
		p.late = append(p.late, c)
		return
	}
	if !r.hasOnlyCall(p) {
		r.addNative(p, c, nil)
	}
}

// addNative adds a native call to a reply. refused, unless it is nil, keeps it from
// running.
func (r *run) addNative(p *reply, c tool.Call, refused *tool.Error) {
	p.native = true
	if name, _ := tool.Named(c.Tool, r.specs); name != "" {
		c.Tool = name
	}
	args := c.Args
	var problem *tool.Error
	if len(bytes.TrimSpace(args)) == 0 {
		args = json.RawMessage("{}")
	} else if !isObject(args) {
		problem = &tool.Error{Code: tool.BadArgs, Msg: prompt.For(r.locale).BadNativeArgs}
		args = json.RawMessage("{}") // providers refuse a history that holds anything else
	}
	call, bad := r.unwrap(c.Tool, args)
	call.ID, call.Turn = r.newID(c.ID), r.turn
	problem = cmp.Or(problem, bad)
	if !prompt.HasTool(r.specs, c.Tool) {
		m := parse.Malformed{Reason: parse.ReasonUnknownTool, Name: c.Tool, Format: formatNative}
		var said []string
		for _, e := range p.bad {
			said = append(said, e.Msg)
		}
		problem = &tool.Error{Code: tool.UnknownTool, Msg: r.correction(m, said...)}
	}
	if problem = cmp.Or(refused, problem); problem != nil {
		p.refuse(len(p.calls), problem)
	}
	p.calls, p.raw = append(p.calls, call), append(p.raw, "")
	r.startCall(p, CallStart{Call: call, Format: formatNative})
}

// refuseLate answers the native calls of a reply that was to be the last one: models
// listen to a refusal more than to a note. The next reply is the last one whatever it is.
func (r *run) refuseLate() phase {
	w := prompt.For(r.locale)
	for i, c := range r.round.reply.late {
		why := w.TooLate + w.AnswerInText
		if i > 0 {
			why = w.AsAbove
		}
		r.addNative(r.round.reply, c, &tool.Error{Code: tool.Denied, Msg: why})
	}
	r.flushText(r.round.reply)
	return phaseCall
}

func isObject(raw json.RawMessage) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal(raw, &object) == nil && object != nil
}

// idPattern matches ids of calls that every provider accepts.
var idPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`) })

// newID returns the model's id if it is valid and new in this conversation, and the
// next free number otherwise.
func (r *run) newID(wanted string) string {
	if idPattern().MatchString(wanted) && !r.ids.used[wanted] {
		r.ids.used[wanted] = true
		return wanted
	}
	for {
		r.ids.last++
		id := fmt.Sprintf("call_%03d", r.ids.last)
		if !r.ids.used[id] {
			r.ids.used[id] = true
			return id
		}
	}
}

// usedIDs collects the ids of a conversation's calls.
func usedIDs(msgs []Message) map[string]bool {
	ids := map[string]bool{}
	for _, m := range msgs {
		for _, c := range m.Calls {
			ids[c.ID] = true
		}
	}
	return ids
}
