// Package recall decides, before a model is asked, which archived results a
// question is about. Policy compares the question with the placeholders of the
// conversation, by shared words or by the vectors of an embedding model.
package recall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weirhost/weir/sdk/tool"
)

const (
	// leastShared is how many words must be shared at least: one alone is chance.
	leastShared = 2
	// maxMatches bounds the results of a Match.
	maxMatches = 3
	// embedTimeout bounds the wait for vectors: a question must not hang on them.
	embedTimeout = 10 * time.Second
)

// A Candidate is an archived result that the question may be about.
type Candidate struct {
	Tool string
	Ref  *tool.Ref
	// Lines are those of the passage that matched, such as "40-61", and Score is its
	// cosine, where stored vectors were compared.
	Lines string
	Score float64
}

// A Match is what a policy decides. The zero Match does nothing.
type Match struct {
	// Best are the best candidates, the best first, at most three.
	Best []Candidate
	// Score is that of the first, 0 to 1. By is what it counts: "words" or
	// "embeddings".
	Score float64
	By    string
	// Fallback is why words were counted although there is an embedding model;
	// empty: they were not.
	Fallback string
	// Hint reports that the model is to be given the names of Best, Load that the
	// first is to be loaded for it.
	Hint, Load bool
}

// When says what a Policy waits for.
type When int

// The conditions. Keyword gives hints if the question refers back. Semantic loads
// the best match if its score is good. Hybrid gives hints on either sign and loads
// if both agree.
const (
	Keyword When = iota
	Semantic
	Hybrid
)

// A Policy decides by a question alone. It is safe for concurrent use if Embed is.
type Policy struct {
	When When
	// Threshold is the score, up to 1, from which a match is good: a share of the
	// question's words, of which at least two must be shared, or a cosine.
	Threshold float64
	// Embed returns a vector for each text. Nil, or nil vectors: words are counted.
	Embed func(ctx context.Context, texts []string) ([][]float32, error)
	// Near returns the results whose stored vectors are nearest to the question. Nil,
	// or none: the candidates are compared.
	Near func(ctx context.Context, question string) ([]Candidate, error)
}

// scored is a Candidate with its score; good: good enough to be loaded.
type scored struct {
	Candidate
	score float64
	good  bool
}

// Recall decides about the candidates, which are ordered from new to old.
func (p Policy) Recall(ctx context.Context, question string, archived []Candidate) Match {
	back := refersBack(question)
	if p.When == Keyword && !back {
		return Match{}
	}
	found, m := p.near(ctx, question)
	if len(found) == 0 && len(archived) > 0 {
		for _, c := range archived {
			found = append(found, scored{Candidate: c})
		}
		fallback := m.Fallback
		m = p.rank(ctx, question, found)
		m.Fallback = cmp.Or(m.Fallback, fallback)
	}
	if len(found) == 0 {
		return m
	}
	best := found[0]
	m.Score = best.score
	switch p.When {
	case Keyword:
		m.Hint = true
	case Semantic:
		m.Load = best.good
	case Hybrid:
		m.Load = best.good && back
		m.Hint = (best.good || back) && !m.Load
	}
	if m.Hint || m.Load {
		for _, c := range found[:min(len(found), maxMatches)] {
			m.Best = append(m.Best, c.Candidate)
		}
	}
	return m
}

// near returns the results that stored vectors say the question is about.
func (p Policy) near(ctx context.Context, question string) ([]scored, Match) {
	if p.Near == nil || p.When == Keyword {
		return nil, Match{}
	}
	near, err := p.Near(ctx, question)
	if err != nil {
		return nil, Match{Fallback: err.Error()}
	}
	var found []scored
	for _, c := range near {
		found = append(found, scored{Candidate: c, score: max(c.Score, 0), good: c.Score >= p.Threshold})
	}
	return found, Match{By: "embeddings"}
}

// rank scores the candidates and sorts them, the best first, of equals the newest.
func (p Policy) rank(ctx context.Context, question string, found []scored) Match {
	m := Match{By: "words"}
	if p.Embed != nil && p.When != Keyword {
		ok, err := p.embedScores(ctx, question, found)
		switch {
		case err != nil:
			m.Fallback = err.Error()
		case ok:
			m.By = "embeddings"
		}
	}
	if m.By == "words" {
		terms := questionTerms(question)
		for i := range found {
			score, shared := overlap(terms, about(found[i].Candidate))
			found[i].score, found[i].good = score, score >= p.Threshold && shared >= leastShared
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	return m
}

// embedScores scores by vectors. It reports whether there were any.
func (p Policy) embedScores(ctx context.Context, question string, found []scored) (bool, error) {
	texts := []string{question}
	for _, c := range found {
		texts = append(texts, about(c.Candidate))
	}
	ctx, cancel := context.WithTimeout(ctx, embedTimeout)
	defer cancel()
	vectors, err := p.Embed(ctx, texts)
	if err != nil || vectors == nil {
		return false, err
	}
	if len(vectors) != len(texts) {
		return false, fmt.Errorf("%d vectors came for %d texts", len(vectors), len(texts))
	}
	for _, v := range vectors {
		if len(v) == 0 || len(v) != len(vectors[0]) {
			return false, errors.New("the vectors are not of one length")
		}
	}
	for i := range found {
		found[i].score = cosine(vectors[0], vectors[i+1])
		found[i].good = found[i].score >= p.Threshold
	}
	return true, nil
}

// about is the text of a placeholder that a question is compared with.
func about(c Candidate) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n%s", c.Tool, c.Ref.Query, c.Ref.Summary)
	for _, s := range c.Ref.Sources {
		b.WriteString("\n" + s.Title + " " + s.URL)
	}
	return b.String()
}
