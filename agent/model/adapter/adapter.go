// Package adapter passes requests of clients with a loop of their own to models that can only
// generate: the demonstration, scripts of tests, whatever else implements agent.Model alone.
//
// Of reads a request in OpenAI's form into an agent.Request, and writes the reply as chunks
// in that form. Texts, tools, calls, results and parameters go; pictures and other parts that
// are no text are refused, and what has no place in an agent.Request is told to
// Request.Changed. Begin with request.go for what becomes of a request.
package adapter

import (
	"context"
	"iter"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/internal/chatform"
	"github.com/weirhost/weir/agent/passthrough"
	"github.com/weirhost/weir/sdk/tool"
)

// Of returns m itself if it is a passthrough.Model, or wraps one, and else a Model that asks
// m. name is how the operator calls m, for errors.
func Of(m agent.Model, name string) passthrough.Model {
	if p, ok := agent.As[passthrough.Model](m); ok {
		return p
	}
	return &model{m, name}
}

type model struct {
	asked agent.Model
	name  string
}

// Pass implements passthrough.Model.
func (m *model) Pass(ctx context.Context, r passthrough.Request) iter.Seq2[passthrough.Chunk, error] {
	return func(yield func(passthrough.Chunk, error) bool) {
		asked, fault := chatform.Read(r.Body)
		t := &translation{}
		if fault == nil {
			fault = t.read(asked)
		}
		if fault != nil {
			yield(passthrough.Chunk{}, agent.NewModelError(agent.ModelBadRequest, m.name, fault.Text, tool.Text{}))
			return
		}
		t.notes.Each(r.Change)
		t.to.Window, t.to.Locale = r.Window, r.Locale
		m.answer(ctx, t.to, asked.NewWriter(m.name), yield)
	}
}

// answer writes the reply as chunks.
func (m *model) answer(ctx context.Context, r agent.Request, w *chatform.Writer, yield func(passthrough.Chunk, error) bool) {
	var last agent.Delta
	calls := 0
	for d, err := range m.asked.Generate(ctx, r) {
		if err != nil {
			yield(passthrough.Chunk{}, err)
			return
		}
		part := chatform.Delta{Text: d.Text, Reasoning: d.Reasoning}
		if d.Call != nil {
			part.Calls = []chatform.CallDelta{{Index: calls, ID: d.Call.ID, Name: d.Call.Tool, Arguments: string(d.Call.Args)}}
			calls++
		}
		if d.Model != "" {
			w.Model, last.Model = d.Model, d.Model
		}
		if d.Usage != nil {
			last.Usage = d.Usage
		}
		if d.Finish != "" {
			last.Finish = d.Finish
		}
		if data := w.Add(part); data != nil && !yield(passthrough.Chunk{Data: data, Model: d.Model}, nil) {
			return
		}
	}
	if last.Finish == "" {
		yield(passthrough.Chunk{}, agent.NewModelError(agent.ModelCut, m.name, tool.Textf("the reply broke off before its end"), tool.Textf("ask again")))
		return
	}
	w.End(last, yield)
}
