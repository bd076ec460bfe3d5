package ollama

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

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
			tool.Textf("set embedding_model in [models.%s]; ollama pull nomic-embed-text gets one", m.cfg.Name)))
	}
	body, err := json.Marshal(map[string]any{"model": m.cfg.EmbeddingModel, "input": texts})
	if err != nil {
		return agent.Embeddings{}, err
	}
	peer := m.peer
	peer.Model = m.cfg.EmbeddingModel
	ctx, watch := m.peer.NewWatch(ctx, m.cfg.FirstTimeout, m.cfg.StallTimeout)
	defer watch.Stop()
	data, err := m.read(ctx, peer, watch, "/api/embed", body, wire.MaxTold)
	if err != nil {
		return agent.Embeddings{}, err
	}
	var answer struct {
		Embeddings [][]float32 `json:"embeddings"`
		Tokens     wire.Tokens `json:"prompt_eval_count"`
	}
	empty := func(v []float32) bool { return len(v) == 0 }
	if wire.Decode(data, wire.MaxNumbers, &answer) != nil || len(answer.Embeddings) != len(texts) || slices.ContainsFunc(answer.Embeddings, empty) {
		return agent.Embeddings{}, peer.Garbage(tool.Textf("not one vector for each text"))
	}
	return agent.Embeddings{Vectors: answer.Embeddings, Usage: agent.Usage{Prompt: int(answer.Tokens)}, Model: m.cfg.EmbeddingModel}, nil
}
