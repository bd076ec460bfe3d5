package modeltest

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/passthrough"
	"github.com/weirhost/weir/sdk/tool"
)

// A Passed is everything one Pass gave.
type Passed struct {
	// Chunks are what the client gets, and Changed what it is told.
	Chunks  []json.RawMessage
	Changed []string
	Usage   *agent.Usage
	Model   string
	Finish  agent.Finish
}

// A Passer is a passthrough.Model.
type Passer interface {
	Pass(context.Context, passthrough.Request) iter.Seq2[passthrough.Chunk, error]
}

// Pass collects the answer to a body up to its end or its error.
func Pass(ctx context.Context, m Passer, body string) (Passed, error) {
	var out Passed
	r := passthrough.Request{Body: json.RawMessage(body), Changed: func(t tool.Text) { out.Changed = append(out.Changed, t.String()) }}
	for c, err := range m.Pass(ctx, r) {
		if err != nil {
			return out, err
		}
		if c.Data != nil {
			out.Chunks = append(out.Chunks, c.Data)
		}
		if c.Usage != nil {
			out.Usage = c.Usage
		}
		if c.Model != "" {
			out.Model = c.Model
		}
		out.Finish = c.Finish
	}
	return out, nil
}
