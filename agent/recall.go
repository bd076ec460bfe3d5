package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weirhost/weir/agent/internal/prompt"
	"github.com/weirhost/weir/agent/internal/recall"
	"github.com/weirhost/weir/agent/parse"
	"github.com/weirhost/weir/sdk/tool"
)

// A Trigger says who decides that an archived result is needed again.
type Trigger string

// The triggers. TriggerModel leaves it to the model. TriggerKeyword names the
// likeliest placeholders to it when the question refers back. TriggerSemantic
// loads the best match, if it is good enough, before the model is asked.
// TriggerHybrid names them when either sign is there, and loads the best match
// where both agree.
const (
	TriggerModel    Trigger = "model"
	TriggerKeyword  Trigger = "keyword"
	TriggerSemantic Trigger = "semantic"
	TriggerHybrid   Trigger = "hybrid"
)

// An Embedder turns texts into vectors, one for each, in their order and all of
// one length. A Model may be one; without it, or when it fails, shared words
// decide. One that is not set up to answers ErrNoEmbeddings.
type Embedder interface {
	Embed(ctx context.Context, texts []string) (Embeddings, error)
}

// Embeddings are the vectors of some texts.
type Embeddings struct {
	Vectors [][]float32
	// Usage is what they took, all of it Prompt; zero: the provider does not say.
	Usage Usage
	// Model made them, by the provider's name.
	Model string
}

// ErrNoEmbeddings reports that no embedding model is configured. Words are counted
// then; that is no failure.
var ErrNoEmbeddings = errors.New("no embedding model is named")

// Recalled says that archived results were found that the question may be
// about, before the model was asked.
type Recalled struct {
	// UUIDs are the best matches, the best first, Score the first one's, 0 to 1.
	UUIDs []string
	Score float64
	// By is what the score counts: "words" or "embeddings".
	By string
	// Fallback is why words were counted although there is an embedding model;
	// empty: they were not. If nothing was found, there are no UUIDs with it.
	Fallback string
	// Hinted reports that the model received their names, Preloaded that the best
	// one was loaded for it.
	Hinted, Preloaded bool
}

func (Recalled) event() {}

// formatTrigger names a load that a trigger made.
const formatTrigger parse.Format = "trigger"

// maxCandidates bounds the placeholders that are compared, the newest first.
const maxCandidates = 64

// A recaller decides, before the model is asked, which archived results a question
// is about. The candidates are ordered from new to old.
type recaller interface {
	Recall(ctx context.Context, question string, archived []recall.Candidate) recall.Match
}

// recaller returns the policy of the configured trigger; nil: the model decides.
func (l *Loop) recaller() recaller {
	p := recall.Policy{Threshold: l.cfg.SemanticThreshold}
	switch l.cfg.Trigger {
	case TriggerKeyword:
		p.When = recall.Keyword
	case TriggerSemantic:
		p.When = recall.Semantic
	case TriggerHybrid:
		p.When = recall.Hybrid
	default:
		return nil
	}
	if e, ok := As[Embedder](l.model); ok {
		p.Embed = func(ctx context.Context, texts []string) ([][]float32, error) {
			got, err := e.Embed(ctx, texts)
			if errors.Is(err, ErrNoEmbeddings) {
				return nil, nil
			}
			if err == nil && got.Vectors == nil {
				got.Vectors = [][]float32{}
			}
			return got.Vectors, err
		}
	}
	return p
}

// recall applies the recaller's decision: it adds the hint, and returns the
// arguments of the load to make, or nil.
func (r *run) recall() json.RawMessage {
	policy := r.l.recaller()
	if policy == nil || !prompt.HasTool(r.specs, prompt.LoadTool) {
		return nil
	}
	shown := r.shownLoads()
	if p, ok := policy.(recall.Policy); ok {
		p.Near = r.near(shown)
		policy = p
	}
	m := policy.Recall(r.ctx, r.msgs[r.memory.question].Text, r.archived(shown))
	e := Recalled{Score: m.Score, By: m.By, Fallback: m.Fallback, Hinted: m.Hint, Preloaded: m.Load}
	if len(m.Best) == 0 {
		if e.Fallback != "" {
			r.emit(e)
		}
		return nil
	}
	for _, c := range m.Best {
		e.UUIDs = append(e.UUIDs, c.Ref.UUID)
	}
	r.emit(e)
	if m.Hint {
		r.add(note(hint(m.Best, r.locale), r.turn, r.locale))
	}
	if !m.Load {
		return nil
	}
	if lines := m.Best[0].Lines; lines != "" {
		return json.RawMessage(`{"uuid":` + prompt.Quote(e.UUIDs[0]) + `,"lines":` + prompt.Quote(lines) + `}`)
	}
	return json.RawMessage(`{"uuid":` + prompt.Quote(e.UUIDs[0]) + `}`)
}

// maxNear is how many results the stored vectors are asked for.
const maxNear = 8

// near returns the search by stored vectors; nil: the tools have none.
func (r *run) near(shown map[string]bool) func(context.Context, string) ([]recall.Candidate, error) {
	box, ok := r.box.(Rememberer)
	if !ok {
		return nil
	}
	return func(ctx context.Context, question string) ([]recall.Candidate, error) {
		found, err := box.Near(ctx, question, maxNear)
		var out []recall.Candidate
		for _, f := range found {
			if !shown[f.Ref.UUID] {
				out = append(out, recall.Candidate{Tool: f.Tool, Ref: f.Ref, Lines: fmt.Sprintf("%d-%d", f.First, f.Last), Score: f.Score})
			}
		}
		return out, err
	}
}

// shownLoads are the results that a load still shows.
func (r *run) shownLoads() map[string]bool {
	seen := map[string]bool{}
	for _, m := range r.msgs[:r.memory.question] {
		for _, e := range m.Results {
			if e.Ephemeral && !e.Folded && e.Ref != nil {
				seen[e.Ref.UUID] = true
			}
		}
	}
	return seen
}

// archived returns the placeholders of the history, the newest first, then the results
// of earlier conversations where those can be read, each once. A result that a load
// still shows is not among them, nor is one whose text was removed.
func (r *run) archived(shown map[string]bool) []recall.Candidate {
	var out []recall.Candidate
	box, remembers := r.box.(Rememberer)
	seen := maps.Clone(shown)
	for _, m := range slices.Backward(r.msgs[:r.memory.question]) {
		for _, e := range slices.Backward(m.Results) {
			if e.Folded && !e.Ephemeral && e.Ref != nil && !seen[e.Ref.UUID] && len(out) < maxCandidates {
				seen[e.Ref.UUID] = true
				if remembers && box.Ref(r.ctx, e.Ref.UUID) == nil {
					continue
				}
				out = append(out, recall.Candidate{Tool: e.Tool, Ref: e.Ref})
			}
		}
	}
	if !remembers {
		return out
	}
	earlier, _ := box.Earlier(r.ctx, maxCandidates) // without them this conversation's remain
	for _, e := range earlier {
		if !seen[e.Ref.UUID] && len(out) < maxCandidates {
			seen[e.Ref.UUID] = true
			out = append(out, recall.Candidate{Tool: e.Tool, Ref: e.Ref})
		}
	}
	return out
}

// hint names the candidates in one line.
func hint(found []recall.Candidate, l tool.Locale) string {
	names := make([]string, len(found))
	for i, c := range found {
		query := []rune(prompt.Clean(c.Ref.Query))
		if len(query) > 60 {
			query = append(query[:59], '…')
		}
		names[i] = fmt.Sprintf("%s (%s: %s)", c.Ref.UUID, prompt.Clean(c.Tool), string(query))
	}
	w := prompt.For(l)
	return fmt.Sprintf(w.Hint, strings.Join(names, w.Hints))
}
