package openai

import (
	"cmp"
	"context"
	"errors"

	"github.com/openai/openai-go/v3/option"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/internal/wire"
	"github.com/weirhost/weir/sdk/tool"
)

var _ agent.Embedder = (*Model)(nil)

// Embed returns a vector of each text, in their order, by the configured
// embedding model. Without one it fails at once, without asking the server. There
// is no retry: callers have a fallback without vectors.
func (m *Model) Embed(ctx context.Context, texts []string) (agent.Embeddings, error) {
	if m.cfg.EmbeddingModel == "" {
		return agent.Embeddings{}, errors.Join(agent.ErrNoEmbeddings, m.peer.Error(agent.ModelNotFound, tool.Textf("no embedding model is named"),
			tool.Textf("set embedding_model in [models.%s]", m.cfg.Name)))
	}
	peer := m.peer
	peer.Model = m.cfg.EmbeddingModel
	ctx, watch := m.peer.NewWatch(ctx, m.cfg.FirstTimeout, m.cfg.StallTimeout)
	defer watch.Stop()
	body := map[string]any{"model": m.cfg.EmbeddingModel, "input": texts, "encoding_format": "float"}
	var raw []byte
	err := client(m.options).Post(ctx, "embeddings", body, &raw, option.WithHeader("Accept", "application/json"))
	if err != nil {
		return agent.Embeddings{}, peer.Failed(ctx, err)
	}
	var answer struct {
		Data []struct {
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
		Usage struct {
			Prompt wire.Tokens `json:"prompt_tokens"`
			Total  wire.Tokens `json:"total_tokens"`
		} `json:"usage"`
	}
	garbage := peer.Garbage(tool.Textf("not one vector for each text"))
	if wire.Decode(raw, wire.MaxNumbers, &answer) != nil || len(answer.Data) != len(texts) {
		return agent.Embeddings{}, garbage
	}
	out := make([][]float32, len(texts))
	for _, d := range answer.Data { // in no promised order
		if d.Index < 0 || d.Index >= len(out) || out[d.Index] != nil || len(d.Embedding) == 0 {
			return agent.Embeddings{}, garbage
		}
		out[d.Index] = d.Embedding
	}
	used := agent.Usage{Prompt: int(cmp.Or(answer.Usage.Prompt, answer.Usage.Total))}
	return agent.Embeddings{Vectors: out, Usage: used, Model: m.cfg.EmbeddingModel}, nil
}
