package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/sdk/tool"
)

// The threshold decides what is loaded unasked, by words and by vectors.
func TestSemanticThreshold(t *testing.T) {
	b, history, _ := archived(t, tool.En)
	const question = "Which database timeout errors has the blue boat?" // three of five words
	for _, row := range []struct {
		threshold float64
		loads     bool
	}{{0, true}, {0.5, true}, {0.6, true}, {0.61, false}, {1, false}, {-1, true}} {
		cfg := config(func(c *agent.Config) { c.Trigger, c.SemanticThreshold = agent.TriggerSemantic, row.threshold })
		_, ev := must(t, cfg, replay.New(replay.Text("done")), b, history, question)
		if got := of[agent.Recalled](ev); (len(got) == 1 && got[0].Preloaded) != row.loads {
			t.Errorf("words under %v: %+v, want loaded %v", row.threshold, got, row.loads)
		}
		// Of two directions the question has both and the log one: a cosine of 0.7.
		m := &vectors{Model: replay.New(replay.Text("done")), words: []string{"timeout", "boat"}}
		_, ev = must(t, cfg, m, b, history, question)
		want := row.threshold < 0.7
		if got := of[agent.Recalled](ev); (len(got) == 1 && got[0].Preloaded && got[0].By == "embeddings") != want {
			t.Errorf("vectors under %v: %+v, want loaded %v", row.threshold, got, want)
		}
	}
	cfg := config(func(c *agent.Config) { c.Trigger, c.SemanticThreshold = agent.TriggerSemantic, -1 })
	if _, ev := must(t, cfg, replay.New(replay.Text("done")), b, history, "Danube?"); len(of[agent.Recalled](ev)) != 0 {
		t.Error("without a threshold one shared word is still chance")
	}
	if err := (agent.Config{SemanticThreshold: 1.5}).Validate(); err == nil || !strings.Contains(err.Error(), "1.5") {
		t.Errorf("a score that does not exist: %v", err)
	}
}

// A scriptedEmbedder is a model whose vectors are what answer makes of the texts.
type scriptedEmbedder struct {
	*replay.Model
	answer func(ctx context.Context, texts []string) ([][]float32, error)
}

func (s scriptedEmbedder) Embed(ctx context.Context, texts []string) (agent.Embeddings, error) {
	v, err := s.answer(ctx, texts)
	return agent.Embeddings{Vectors: v}, err
}

// Vectors that do not come, come late or cannot be compared are no reason to
// stop: words are counted, and the event says why. A server without vectors is
// no failure.
func TestVectorsFallBackToWords(t *testing.T) {
	b, history, ids := archived(t, tool.En)
	cfg := config(func(c *agent.Config) { c.Trigger = agent.TriggerSemantic })
	row := func(n, size int) [][]float32 {
		out := make([][]float32, n)
		for i := range out {
			out[i] = make([]float32, size)
		}
		return out
	}
	for why, answer := range map[string]func(context.Context, []string) ([][]float32, error){
		"the server refuses": func(context.Context, []string) ([][]float32, error) { return nil, errors.New("no quota is left") },
		"too few":            func(_ context.Context, texts []string) ([][]float32, error) { return row(len(texts)-1, 3), nil },
		"none":               func(context.Context, []string) ([][]float32, error) { return nil, nil },
		"empty":              func(_ context.Context, texts []string) ([][]float32, error) { return row(len(texts), 0), nil },
		"the model changed between two texts": func(_ context.Context, texts []string) ([][]float32, error) {
			v := row(len(texts), 3)
			v[1] = make([]float32, 5)
			return v, nil
		},
		"the server hangs": func(ctx context.Context, _ []string) ([][]float32, error) { <-ctx.Done(); return nil, ctx.Err() },
		"no model for vectors": func(context.Context, []string) ([][]float32, error) {
			return nil, fmt.Errorf("m: %w", agent.ErrNoEmbeddings)
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := scriptedEmbedder{replay.New(replay.Text("done"), replay.Text("done")), answer}
			_, ev := must(t, cfg, m, b, history, "Which database timeout errors has the server?")
			got := of[agent.Recalled](ev)
			if len(got) != 1 || got[0].By != "words" || !got[0].Preloaded || got[0].UUIDs[0] != ids[0] || (got[0].Fallback == "") != (why == "no model for vectors") {
				t.Errorf("%s: %+v", why, got)
			}
			// Nothing is found: the failure is reported all the same.
			_, ev = must(t, cfg, m, b, history, "How do I cook with saffron?")
			if got := of[agent.Recalled](ev); (len(got) == 0) != (why == "no model for vectors") || len(got) > 0 && (got[0].Fallback == "" || got[0].Preloaded || len(got[0].UUIDs) > 0) {
				t.Errorf("%s, and nothing found: %+v", why, got)
			}
		})
	}
}
