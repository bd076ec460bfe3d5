package agent

import (
	"bytes"
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
	calls           []tool.Call
	native          bool                // calls came through the provider's own calling
	bad             map[int]*tool.Error // index of a call that must not run → why
	malformed       []parse.Malformed
	sealed          json.RawMessage
	usage           Usage
	finish          Finish
	err             error
	left            bool          // it was not read to its end, where usage stands
	held            bool          // text was not shown yet
	ignored         bool          // it calls, where calls are over
	prefetch        bool          // made by the configuration, not by the model
	first           time.Duration // until something of it came; 0: nothing did
}

// empty says that the model said nothing at all.
func (p *reply) empty() bool {
	return strings.TrimSpace(p.text.String()) == "" && len(p.calls) == 0 && len(p.malformed) == 0
}

// stream asks the model once. It stops reading where the reply's group of calls
// ends: what a model writes behind its calls are results it made up.
func (r *run) stream(req Request) *reply {
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	ctx = OnRepeat(ctx, func(err error, wait time.Duration) { r.emit(ModelRepeated{Err: err, Wait: wait}) })
	p := &reply{held: r.holds()}
	parser := r.parser()
	began := time.Now()
	for d, err := range r.l.model.Generate(ctx, req) {
		if err != nil {
			p.err = err
			break
		}
		if p.first == 0 && (d.Text != "" || d.Reasoning != "" || d.Call != nil) {
			p.first = time.Since(began)
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
		r.think(p, d.Reasoning)
		if d.Call != nil {
			r.nativeCall(p, *d.Call)
		}
		if d.Text != "" && !r.take(p, parser.Feed(d.Text)) {
			p.left = true
			return p
		}
	}
	r.take(p, parser.Close(p.err != nil || p.finish != FinishStop && p.finish != FinishCalls))
	if p.err == nil && p.finish == "" {
		p.err = &ModelError{Code: ModelCut, Model: r.info.Name, Msg: "the reply broke off before its end", Hint: "ask again"}
	}
	return p
}

// parser is one for a reply.
func (r *run) parser() parse.Parser { return r.kit.Recogniser().Parser() }

// take adds what the parser found. It returns false when nothing behind it
// counts any more.
func (r *run) take(p *reply, events []parse.Event) bool {
	for _, e := range events {
		switch e := e.(type) {
		case parse.Text:
			if p.ignored || len(p.calls) > 0 && !p.native {
				if strings.IndexFunc(e.Text, isWordRune) >= 0 {
					return false
				}
				continue
			}
			r.say(p, e.Text)
		case parse.Reasoning:
			r.think(p, e.Text)
		case parse.Call:
			r.textCall(p, e)
		case parse.Malformed:
			p.malformed = append(p.malformed, e)
		}
	}
	return true
}

func isWordRune(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }

func (r *run) say(p *reply, text string) {
	p.text.WriteString(text)
	if !p.held && text != "" {
		r.emit(TextDelta{text})
	}
}

func (r *run) think(p *reply, text string) {
	if text != "" {
		p.reasoning.WriteString(text)
		r.emit(ReasoningDelta{text})
	}
}

// show lets out text that was held back.
func (r *run) show(p *reply) {
	if p.held && p.text.Len() > 0 {
		r.emit(TextDelta{p.text.String()})
	}
	p.held = false
}

// callsOver says that a reply may not call: it is the last one, or a check.
func (r *run) callsOver() bool { return r.final != "" || r.draft != "" }

// textCall takes a call that stands in the text. In a reply that also calls
// natively it is a quotation.
func (r *run) textCall(p *reply, c parse.Call) {
	if p.ignored = p.ignored || r.callsOver(); p.native || p.ignored || r.hasItsCall(p) {
		return
	}
	call := tool.Call{ID: r.newID(c.ID), Tool: c.Name, Args: c.Args, Turn: r.turn}
	p.calls = append(p.calls, call)
	r.show(p)
	r.emit(CallStart{Call: call, Format: c.Format, Repaired: c.Repaired})
}

// nativeCall takes a provider's call. One that cannot run is answered, because
// providers want an answer to every call.
func (r *run) nativeCall(p *reply, c tool.Call) {
	if p.ignored = p.ignored || r.callsOver(); p.ignored || r.hasItsCall(p) {
		return
	}
	p.native = true
	call := tool.Call{ID: r.newID(c.ID), Tool: c.Tool, Args: c.Args, Turn: r.turn}
	var problem *tool.Error
	if len(bytes.TrimSpace(c.Args)) == 0 {
		call.Args = json.RawMessage("{}")
	} else if !isObject(c.Args) {
		problem = &tool.Error{Code: tool.BadArgs, Msg: prompt.For(r.locale).BadNativeArgs}
		call.Args = json.RawMessage("{}") // providers refuse a history that holds anything else
	}
	if !prompt.HasTool(r.specs, c.Tool) {
		m := parse.Malformed{Reason: parse.ReasonUnknownTool, Name: c.Tool, Format: formatNative}
		problem = &tool.Error{Code: tool.UnknownTool, Msg: parse.Correction(m, r.specs, r.locale)}
	}
	if problem != nil {
		if p.bad == nil {
			p.bad = map[int]*tool.Error{}
		}
		p.bad[len(p.calls)] = problem
	}
	p.calls = append(p.calls, call)
	r.show(p)
	r.emit(CallStart{Call: call, Format: formatNative})
}

func isObject(raw json.RawMessage) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal(raw, &object) == nil && object != nil
}

// idPattern is what every provider takes as the id of a call.
var idPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`) })

// newID keeps a model's id if it is usable and new in this conversation, and
// gives the next free number otherwise.
func (r *run) newID(wanted string) string {
	if idPattern().MatchString(wanted) && !r.ids[wanted] {
		r.ids[wanted] = true
		return wanted
	}
	for {
		r.lastID++
		id := fmt.Sprintf("call_%03d", r.lastID)
		if !r.ids[id] {
			r.ids[id] = true
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
