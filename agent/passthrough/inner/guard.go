package inner

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/weirhost/weir/agent/internal/prompt"
	"github.com/weirhost/weir/agent/internal/quote"
	"github.com/weirhost/weir/agent/passthrough"
	"github.com/weirhost/weir/sdk/tool"
)

// maxTyped is the longest text of a user that counts as typed, in bytes: a longer one is a paste.
const maxTyped = 4000

// A Guard holds the calls of weir's tools against the texts of a conversation that the model did not
// write: what repeats one of them may be a quotation, and the model is asked whether it means it.
// The calls of the client's tools are the client's to approve. A Guard is for one request, and
// is not safe for concurrent use.
type Guard struct {
	body   passthrough.Body
	whole  func() json.RawMessage
	specs  []tool.Spec
	locale tool.Locale
	tools  *quote.Tools // nil: the request was not read yet
	calls  quote.Calls
	texts  quote.Texts
	typed  quote.Book
	said   quote.Request
	late   []string              // texts that came before the request was read
	own    map[quote.Digest]bool // the calls that the model has made so far
	asked  map[string]bool
}

// NewGuard returns the Guard of a request, which it reads when the first call comes: its tools, and
// the messages of h with all that weir has put into them, as k says. specs are weir's tools, by the
// names that the model uses.
func NewGuard(b passthrough.Body, h *History, k Known, specs []tool.Spec, l tool.Locale) *Guard {
	return &Guard{body: b, whole: func() json.RawMessage { return h.whole(k) }, specs: specs, locale: l, own: map[quote.Digest]bool{}, asked: map[string]bool{}}
}

// whole returns the messages with the rounds that the client has not seen, each text as it was when
// it came.
func (h *History) whole(k Known) json.RawMessage {
	running := *h
	running.last = 0 // no turn has ended
	s := running.Apply(Known{Rounds: k.Rounds})
	return s.request().Get("messages")
}

// readRequest reads the texts of the request, once.
func (g *Guard) readRequest() {
	if g.tools != nil {
		return
	}
	g.tools = new(prompt.Cache).Of(g.specs).Quotes()
	question, answer := "", ""
	gjson.ParseBytes(g.whole()).ForEach(func(_, m gjson.Result) bool {
		role := m.Get("role").String()
		if role == "assistant" {
			if text := textOf(m.Get("content")); text != "" {
				answer = text
			}
			m.Get("tool_calls").ForEach(func(_, c gjson.Result) bool {
				g.makes(quote.Call{Tool: c.Get("function.name").String(), Args: json.RawMessage(c.Get("function.arguments").String())})
				return true
			})
			return true
		}
		for _, text := range textsOf(m.Get("content")) {
			if role == "user" && len(text) <= maxTyped {
				g.Read(question)
				question, g.said.Answer = text, answer
				continue
			}
			g.Read(text)
		}
		return true
	})
	g.typed.Add(question)
	g.said.Typed = question
	gjson.ParseBytes(g.body.Get("tools")).ForEach(func(_, t gjson.Result) bool {
		g.Read(t.Get("function.description").String())
		return true
	})
	for _, text := range g.late {
		g.Read(text)
	}
}

func (g *Guard) makes(c quote.Call) { g.own[g.tools.Digest(c)] = true }

// textsOf returns the texts of a content, which is a text or a list of parts.
func textsOf(content gjson.Result) (out []string) {
	if content.Type == gjson.String {
		return []string{content.String()}
	}
	content.ForEach(func(_, p gjson.Result) bool {
		if text := p.Get("text").String(); text != "" {
			out = append(out, text)
		}
		return true
	})
	return out
}

// Read adds a text that came during the request: the result of a call.
func (g *Guard) Read(text string) {
	if g.tools == nil {
		g.late = append(g.late, text)
		return
	}
	g.texts.Add(text, 0)
	g.calls.Read([]string{text}, g.tools, func(c quote.Call) bool { return g.own[g.tools.Digest(c)] })
}

// Refuses returns what the model reads in place of a result if its call may be a quotation; empty:
// the call is to be made. The same call, made again, is meant.
func (g *Guard) Refuses(c passthrough.Call) string {
	g.readRequest()
	q := quote.Call{Tool: c.Function.Name, Args: json.RawMessage(c.Function.Arguments)}
	if g.asked[q.Key()] || !g.calls.Holds(q, g.tools) && !g.texts.Hold(q, 1) || g.typed.Holds(q, g.tools) || g.asksFor(q) {
		g.makes(q)
		return ""
	}
	g.asked[q.Key()] = true
	w := prompt.For(g.locale)
	return w.Quoted + w.ConfirmCall
}

// asksFor reports whether the person asks for a call in the words of the last message.
func (g *Guard) asksFor(c quote.Call) bool {
	i := slices.IndexFunc(g.specs, func(s tool.Spec) bool { return s.Name == c.Tool })
	return g.tools.Asks(g.said, c, i >= 0 && g.specs[i].Hints.ReadOnly)
}
