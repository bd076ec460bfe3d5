package inner

import (
	"encoding/json"

	"github.com/tidwall/gjson"

	"github.com/weirhost/weir/agent/internal/prompt"
	"github.com/weirhost/weir/agent/internal/quote"
	"github.com/weirhost/weir/agent/passthrough"
	"github.com/weirhost/weir/sdk/tool"
)

// maxTyped is the longest text of a user that counts as typed, in bytes: a longer one is a paste.
const maxTyped = 4000

// A Guard holds the calls of weir's tools against the texts of a request that the model did not
// write: what repeats one of them may be a quotation, and the model is asked whether it means it.
// The calls of the client's tools are the client's to approve. A Guard is for one request, and
// is not safe for concurrent use.
type Guard struct {
	body        passthrough.Body
	specs       []tool.Spec
	locale      tool.Locale
	book, typed quote.Book
	kit         *prompt.Kit // nil: the request was not read yet
	asked       map[string]bool
}

// NewGuard returns the Guard of a request, which it reads when the first call comes. specs are
// weir's tools, by the names that the model uses.
func NewGuard(b passthrough.Body, specs []tool.Spec, l tool.Locale) *Guard {
	return &Guard{body: b, specs: specs, locale: l, asked: map[string]bool{}}
}

// readRequest reads the texts of the request, once.
func (g *Guard) readRequest() {
	if g.kit != nil {
		return
	}
	g.kit = new(prompt.Cache).Of(g.specs)
	question := ""
	gjson.ParseBytes(g.body.Get("messages")).ForEach(func(_, m gjson.Result) bool {
		role := m.Get("role").String()
		if role == "assistant" {
			return true
		}
		for _, text := range textsOf(m.Get("content")) {
			g.book.Add(question)
			question = ""
			if role == "user" && len(text) <= maxTyped {
				question = text
				continue
			}
			g.book.Add(text)
		}
		return true
	})
	g.typed.Add(question)
	gjson.ParseBytes(g.body.Get("tools")).ForEach(func(_, t gjson.Result) bool {
		g.book.Add(t.Get("function.description").String())
		return true
	})
}

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
func (g *Guard) Read(text string) { g.book.Add(text) }

// Refuses returns what the model reads in place of a result if its call may be a quotation; empty:
// the call is to be made. The same call, made again, is meant.
func (g *Guard) Refuses(c passthrough.Call) string {
	g.readRequest()
	q := quote.Call{Tool: c.Function.Name, Args: json.RawMessage(c.Function.Arguments)}
	tools := g.kit.Quotes()
	if g.asked[q.Key()] || g.typed.Holds(q, tools) || !g.book.Holds(q, tools) {
		return ""
	}
	g.asked[q.Key()] = true
	w := prompt.For(g.locale)
	return w.Quoted + w.ConfirmCall
}
