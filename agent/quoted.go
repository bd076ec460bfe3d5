package agent

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/weirhost/weir/agent/internal/prompt"
	"github.com/weirhost/weir/agent/internal/quote"
	"github.com/weirhost/weir/sdk/tool"
)

// quotes are the foreign texts of the conversation, without those of its tools; see
// package quote.
type quotes struct {
	book  quote.Book
	next  int         // index of the first message that is not in book
	typed *quote.Book // what the person typed in this turn's question; nil: not read yet
}

// refuseQuotes keeps the calls of the reply that are quotations from running. The answer
// to each asks the model whether it means the call.
func (r *run) refuseQuotes() {
	p := r.round.reply
	if p.prefetch { // the person or the configuration made the calls
		return
	}
	r.readForeign()
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

// readForeign adds the foreign texts that are new to the book. A text that folds later
// stays in it.
func (r *run) readForeign() {
	q := &r.quotes
	if q.next == 0 && len(r.memory.head) > 0 {
		m := r.msgs[r.memory.opening]
		before, _, after := m.Typed.Cut(m.Text)
		q.book.Add(before)
		q.book.Add(after)
	}
	q.next = max(q.next, r.memory.first)
	for ; q.next < len(r.msgs); q.next++ {
		m := r.msgs[q.next]
		switch m.Role {
		case RoleUser:
			before, _, after := m.Typed.Cut(m.Text)
			q.book.Add(before)
			q.book.Add(after)
		case RoleNote:
			q.book.Add(r.goneSignatures(m.Text))
		}
		for _, e := range m.Results {
			switch {
			case e.Confirm != "":
			case !r.isOwnText(e.Tool):
				q.book.Add(e.cited())
			case e.Tool == prompt.FindTool:
				q.book.Add(r.goneSignatures(e.Text))
			}
		}
	}
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
// A call that the person typed in the question is what they ask for, whatever else holds it.
// Notices and placeholders name calls of load_tool_history, which only reads.
func (r *run) isQuotation(c tool.Call, raw string) bool {
	if c.Tool == prompt.LoadTool || r.isOwnText(c.Tool) {
		return false
	}
	q, tools := quote.Call{Tool: c.Tool, Args: c.Args, Text: raw}, r.kit.Recogniser()
	if r.typed().Holds(q, tools) {
		return false
	}
	if id, confirmed := r.confirmation(q); confirmed || id != "" {
		return !confirmed && raw != "" && c.ID != id
	}
	return r.kit.Authored(r.locale).Holds(q, tools) || r.quotes.book.Holds(q, tools)
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
