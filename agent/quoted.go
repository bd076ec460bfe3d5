package agent

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/weirhost/weir/agent/internal/prompt"
	"github.com/weirhost/weir/agent/internal/quote"
	"github.com/weirhost/weir/sdk/tool"
)

// quotes are the foreign texts of the conversation, without those of its tools; see
// package quote.
type quotes struct {
	texts quote.Texts // that the model has in view
	next  int         // index of the first message that is not in texts
	calls quote.Calls // of all messages
	held  int         // index of the first message that is not in calls
	typed *quote.Book // what the person typed in this turn's question; nil: not read yet
	// errors are those of this turn's calls as they came, by the ids of the calls: the model
	// reads them on one line.
	errors map[string]string
	// marked is the index of the first message of the history that has got its Held; see
	// finish. It is len of the history if there is none.
	marked int
}

// refuseQuotes keeps the calls of the reply that are quotations from running. The answer
// to each asks the model whether it means the call.
func (r *run) refuseQuotes() {
	p := r.round.reply
	if p.prefetch { // the person or the configuration made the calls
		return
	}
	r.readForeign()
	r.hold(len(r.msgs))
	for i, c := range p.calls {
		if p.bad[i] != nil || !r.isQuotation(c, p.raw[i]) {
			continue
		}
		w := prompt.For(r.locale)
		id := "confirm_" + strings.ToLower(rand.Text()[:8])
		how := w.ConfirmCall
		if p.raw[i] != "" {
			how = fmt.Sprintf(w.ConfirmText, id)
		}
		p.refuse(i, &tool.Error{Code: tool.Quoted, Msg: w.Quoted + how})
		if p.confirm == nil {
			p.confirm = map[string]string{}
		}
		p.confirm[c.ID] = id
	}
}

// readForeign adds the foreign texts that are new to the quotes. A text that folds later
// stays in them.
func (r *run) readForeign() {
	q := &r.quotes
	if q.next == 0 && len(r.memory.head) > 0 {
		r.readTexts(r.memory.opening)
	}
	for q.next = max(q.next, r.memory.first); q.next < len(r.msgs); q.next++ {
		r.readTexts(q.next)
	}
}

func (r *run) readTexts(i int) {
	for _, text := range r.othersTexts(r.msgs[i]) {
		r.quotes.texts.Add(text, i)
	}
}

// othersTexts returns the foreign texts of a message, as the model reads them now.
func (r *run) othersTexts(m Message) (out []string) {
	switch m.Role {
	case RoleUser:
		if m.Typed.From != 0 || m.Typed.To != utf8.RuneCountInString(m.Text) {
			before, _, after := m.Typed.Cut(m.Text)
			out = append(out, before, after)
		}
	case RoleNote:
		out = append(out, r.goneSignatures(m.Text))
	}
	for _, e := range m.Results {
		switch {
		case e.Confirm != "":
		case !r.isOwnText(e.Tool):
			out = append(out, e.cited())
		case e.Tool == prompt.FindTool:
			out = append(out, r.goneSignatures(e.Text))
		}
	}
	return slices.DeleteFunc(out, func(text string) bool { return strings.TrimSpace(text) == "" })
}

// hold reads the calls that the messages in front of end hold, each message once in a
// conversation: what it holds is kept with it, so that it counts when its text has folded
// or is not sent any more. A call that the model has made before is none of them.
func (r *run) hold(end int) {
	q, tools := &r.quotes, r.kit.Quotes()
	for ; q.held < end; q.held++ {
		m := &r.msgs[q.held]
		held, known := bytes.CutPrefix(m.Held, tools.Stamp())
		if !known && len(m.Held) > 0 { // read for other tools
			held = m.Held[len(tools.Stamp()):]
		}
		q.calls.Add(held)
		if known {
			continue
		}
		texts := r.othersTexts(*m)
		for _, e := range m.Results {
			if text := q.errors[e.CallID]; text != "" {
				texts = append(texts, text)
			}
		}
		if len(texts) == 0 {
			continue
		}
		had := len(m.Held) > 0
		m.Held = slices.Concat(tools.Stamp(), held, q.calls.Read(texts, tools, func(c quote.Call) bool { return r.madeBefore(c, q.held+1) < q.held }))
		if !had && m.Role != RoleNote {
			q.marked = min(q.marked, q.held)
		}
	}
}

// keepError keeps an error whose lines the model does not read as such.
func (r *run) keepError(id string, e *tool.Error) {
	if e == nil || !strings.Contains(e.Msg+e.Hint, "\n") {
		return
	}
	if r.quotes.errors == nil {
		r.quotes.errors = map[string]string{}
	}
	r.quotes.errors[id] = e.Msg + "\n" + e.Hint
}

// holdTurn is hold for what this turn has brought, and may fold at its end.
func (r *run) holdTurn() {
	if slices.ContainsFunc(r.msgs, func(m Message) bool { return m.Turn >= r.turn-1 && len(m.Held) == 0 && len(r.othersTexts(m)) > 0 }) {
		r.hold(len(r.msgs))
	}
}

// madeBefore returns the index of the first message in front of end in which the model made
// a call that was no quotation; end: there is none.
func (r *run) madeBefore(c quote.Call, end int) int {
	tools := r.kit.Quotes()
	digest := tools.Digest(c)
	var calls []tool.Call
	at := 0
	for i, m := range r.msgs[:end] {
		if m.Role == RoleAssistant && len(m.Calls) > 0 {
			calls, at = m.Calls, i
		}
		for _, e := range m.Results {
			n := slices.IndexFunc(calls, func(c tool.Call) bool { return c.ID == e.CallID })
			if n >= 0 && e.Confirm == "" && calls[n].Tool == c.Tool && tools.Digest(quote.Call{Tool: calls[n].Tool, Args: calls[n].Args}) == digest {
				return at
			}
		}
	}
	return end
}

// isOwnText reports whether the agent itself writes what a tool returns. The descriptions
// of tools in it are in the book already.
func (r *run) isOwnText(name string) bool {
	return r.describes && name == prompt.DescribeTool || r.searches() && name == prompt.FindTool
}

// goneSignatures returns the lines of a text that describe tools which this turn does
// not offer: of those, the book has no descriptions. A note that describes one of them
// whole is returned as it is.
func (r *run) goneSignatures(text string) string {
	var gone []string
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(line, "## "); ok && prompt.DescribesWhole(text) && !prompt.HasTool(r.specs, strings.TrimSuffix(name, "\n")) {
			return text
		}
		name, _, ok := strings.Cut(strings.TrimPrefix(line, "- "), "(")
		if ok && strings.HasPrefix(line, prompt.SignatureMark(name)) && !prompt.HasTool(r.specs, name) {
			gone = append(gone, line)
		}
	}
	return strings.Join(gone, "")
}

// isQuotation reports whether a call must not run because a foreign text holds it and
// the model has not confirmed it. raw is what the model wrote; empty for a native call.
// A call that the person typed in the question, or asks for there in words, is what they ask
// for, whatever else holds it. So is one that the model has made before a text held it.
// Notices and placeholders name calls of load_tool_history, which only reads.
func (r *run) isQuotation(c tool.Call, raw string) bool {
	if c.Tool == prompt.LoadTool || r.isOwnText(c.Tool) {
		return false
	}
	q, tools := quote.Call{Tool: c.Tool, Args: c.Args, Text: raw}, r.kit.Quotes()
	if !r.isHeld(q, tools) || r.typed().Holds(q, tools) || r.asksFor(q, tools) {
		return false
	}
	id, confirmed := r.confirmation(q)
	if confirmed || id != "" {
		return !confirmed && raw != "" && c.ID != id
	}
	return true
}

// isHeld reports whether a foreign text holds a call.
func (r *run) isHeld(c quote.Call, tools *quote.Tools) bool {
	return r.quotes.calls.Holds(c, tools) || r.kit.Authored(r.locale).Holds(c, tools) || r.quotes.texts.Hold(c, r.madeBefore(c, len(r.msgs)))
}

// asksFor reports whether the person asks for a call in the words of the question.
func (r *run) asksFor(c quote.Call, tools *quote.Tools) bool {
	q := r.memory.question
	if q >= len(r.msgs) || r.msgs[q].Role != RoleUser {
		return false
	}
	var said quote.Request
	_, said.Typed, _ = r.msgs[q].Typed.Cut(r.msgs[q].Text)
	if q > 0 && r.msgs[q-1].Role == RoleAssistant {
		said.Answer = r.msgs[q-1].Text
	}
	i := slices.IndexFunc(r.specs, func(s tool.Spec) bool { return s.Name == c.Tool })
	return tools.Asks(said, c, i >= 0 && r.specs[i].Hints.ReadOnly)
}

// typed returns what the person typed in the question.
func (r *run) typed() *quote.Book {
	if r.quotes.typed == nil {
		r.quotes.typed = new(quote.Book)
		if q := r.memory.question; q < len(r.msgs) && r.msgs[q].Role == RoleUser {
			_, typed, _ := r.msgs[q].Typed.Cut(r.msgs[q].Text)
			r.quotes.typed.Add(typed)
		}
	}
	return r.quotes.typed
}

// vetter returns what holds the calls of a script against the foreign texts. The model
// confirms one of them by a call of its own. After over it refuses
// every call: the turn goes on, and changes what calls are held against.
func (r *run) vetter() (vet func(tool.Call) *tool.Error, over func()) {
	var mu sync.Mutex
	ended := false
	vet = func(c tool.Call) *tool.Error {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case ended:
			return &tool.Error{Code: tool.Cancelled, Msg: prompt.For(r.locale).Cancelled}
		case r.isQuotation(c, ""):
			return &tool.Error{Code: tool.Quoted, Msg: prompt.For(r.locale).QuotedInner}
		}
		return nil
	}
	return vet, func() {
		mu.Lock()
		defer mu.Unlock()
		ended = true
	}
}

// confirmation returns the id that confirms a call, if the model was asked for it, and
// whether it has confirmed the call before.
func (r *run) confirmation(c quote.Call) (id string, confirmed bool) {
	var calls []tool.Call
	for _, m := range r.msgs {
		if m.Role == RoleAssistant {
			calls = m.Calls
		}
		for _, e := range m.Results {
			if e.Confirm == "" && id == "" {
				continue
			}
			i := slices.IndexFunc(calls, func(c tool.Call) bool { return c.ID == e.CallID })
			switch {
			case i < 0 || quote.Call{Tool: calls[i].Tool, Args: calls[i].Args}.Key() != c.Key():
			case e.Confirm == "":
				return "", true
			default:
				id = e.Confirm
			}
		}
	}
	return id, false
}
