package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

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

// ErrNoEmbeddings says that nobody configured vectors: to count words instead
// is no failure.
var ErrNoEmbeddings = errors.New("no embedding model is named")

// Recalled says that archived results were found that the question may be
// about, before the model was asked.
type Recalled struct {
	// UUIDs are the best matches, the best first, Score the first one's, 0 to 1.
	UUIDs []string
	Score float64
	// By is what the score counts: "words" or "embeddings".
	By string
	// Fallback is why words were counted where vectors were to be had; empty:
	// they were not. It comes with no UUIDs where nothing was found.
	Fallback string
	// Hinted says that the model was told of them, Preloaded that the best one
	// was loaded for it.
	Hinted, Preloaded bool
}

func (Recalled) event() {}

// formatTrigger names a load that a trigger made.
const formatTrigger parse.Format = "trigger"

const (
	// leastShared is how many words must be shared at least: one alone is chance.
	leastShared = 2
	maxHints    = 3
	// maxCandidates bounds the placeholders that are looked at, the newest first.
	maxCandidates = 64
	// embedTimeout bounds the wait for vectors; a question must not hang on them.
	embedTimeout = 10 * time.Second
)

// A candidate is a placeholder that the question may be about.
type candidate struct {
	entry ResultEntry
	score float64
	good  bool // good enough to be loaded unasked
}

// recall does what the trigger asks for: it adds the hint, and returns the
// arguments of the load to make, or nil.
func (r *run) recall() json.RawMessage {
	if r.cfg.Trigger == "" || r.cfg.Trigger == TriggerModel || !hasTool(r.specs, loadTool) {
		return nil
	}
	question := r.msgs[r.start].Text
	back := refersBack(question)
	found := r.candidates()
	if len(found) == 0 || r.cfg.Trigger == TriggerKeyword && !back {
		return nil
	}
	e := r.rank(question, found)
	best := found[0]
	e.Score = best.score
	switch r.cfg.Trigger {
	case TriggerKeyword:
		e.Hinted = true
	case TriggerSemantic:
		e.Preloaded = best.good
	case TriggerHybrid:
		e.Preloaded = best.good && back
		e.Hinted = (best.good || back) && !e.Preloaded
	}
	if !e.Hinted && !e.Preloaded {
		if e.Fallback != "" {
			r.emit(e)
		}
		return nil
	}
	for _, c := range found[:min(len(found), maxHints)] {
		e.UUIDs = append(e.UUIDs, c.entry.Ref.UUID)
	}
	r.emit(e)
	if e.Hinted {
		r.add(note(hint(found[:len(e.UUIDs)], r.locale), r.turn, r.locale))
	}
	if !e.Preloaded {
		return nil
	}
	return json.RawMessage(`{"uuid":` + quote(best.entry.Ref.UUID) + `}`)
}

// candidates lists the placeholders of the history, the newest first, each
// result once. What a pinned load still shows is none.
func (r *run) candidates() []candidate {
	var out []candidate
	seen := map[string]bool{}
	for _, m := range r.msgs[:r.start] {
		for _, e := range m.Results {
			if e.Ephemeral && !e.Folded && e.Ref != nil {
				seen[e.Ref.UUID] = true
			}
		}
	}
	for _, m := range slices.Backward(r.msgs[:r.start]) {
		for _, e := range slices.Backward(m.Results) {
			if e.Folded && !e.Ephemeral && e.Ref != nil && !seen[e.Ref.UUID] && len(out) < maxCandidates {
				seen[e.Ref.UUID] = true
				out = append(out, candidate{entry: e})
			}
		}
	}
	return out
}

// rank scores the candidates and sorts them, the best first, of equals the
// newest. It returns what the scores count, and why.
func (r *run) rank(question string, found []candidate) Recalled {
	e := Recalled{By: "words"}
	if em, ok := As[Embedder](r.l.model); ok && r.cfg.Trigger != TriggerKeyword {
		err := r.embedScores(em, question, found)
		switch {
		case err == nil:
			e.By = "embeddings"
		case !errors.Is(err, ErrNoEmbeddings):
			e.Fallback = err.Error()
		}
	}
	if e.By == "words" {
		terms := questionTerms(question)
		for i := range found {
			score, shared := overlap(terms, about(found[i].entry))
			found[i].score, found[i].good = score, score >= r.cfg.SemanticThreshold && shared >= leastShared
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(b.score, a.score) })
	return e
}

// embedScores scores by the model's embeddings.
func (r *run) embedScores(em Embedder, question string, found []candidate) error {
	texts := []string{question}
	for _, c := range found {
		texts = append(texts, about(c.entry))
	}
	ctx, cancel := context.WithTimeout(r.ctx, embedTimeout)
	defer cancel()
	e, err := em.Embed(ctx, texts)
	if err != nil {
		return err
	}
	vectors := e.Vectors
	if len(vectors) != len(texts) {
		return fmt.Errorf("%d vectors came for %d texts", len(vectors), len(texts))
	}
	for _, v := range vectors {
		if len(v) == 0 || len(v) != len(vectors[0]) {
			return errors.New("the vectors are not of one length")
		}
	}
	for i := range found {
		found[i].score = cosine(vectors[0], vectors[i+1])
		found[i].good = found[i].score >= r.cfg.SemanticThreshold
	}
	return nil
}

// about is what a placeholder tells of its result.
func about(e ResultEntry) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n%s", e.Tool, e.Ref.Query, e.Ref.Summary)
	for _, s := range e.Ref.Sources {
		b.WriteString("\n" + s.Title + " " + s.URL)
	}
	return b.String()
}

// hint names the candidates in one line.
func hint(found []candidate, l tool.Locale) string {
	names := make([]string, len(found))
	for i, c := range found {
		query := []rune(clean(c.entry.Ref.Query))
		if len(query) > 60 {
			query = append(query[:59], '…')
		}
		names[i] = fmt.Sprintf("%s (%s: %s)", c.entry.Ref.UUID, clean(c.entry.Tool), string(query))
	}
	return fmt.Sprintf(words(l).hint, strings.Join(names, pick(l, "; ", "；")))
}
