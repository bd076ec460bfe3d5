package main

import (
	"cmp"
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/weirhost/weir/host/internal/toolindex"
)

// bm25 is the plain ranker to compare with: k1 = 1.2, b = 0.75, a document of the
// server, the name, the description and the names of the arguments, words without the
// commonest endings.
type bm25 struct {
	counts []map[string]int
	length []float64
	mean   float64
	with   map[string]int
}

func newBM25(tools []toolindex.Tool) *bm25 {
	b := &bm25{with: map[string]int{}}
	for _, t := range tools {
		var schema struct {
			Properties map[string]any `json:"properties"`
		}
		_ = json.Unmarshal(t.Parameters, &schema) // a tool without arguments
		text := t.Server + " " + t.Name + " " + t.Description
		for name := range schema.Properties {
			text += " " + name
		}
		counts := map[string]int{}
		words := plainWords(text)
		for _, w := range words {
			counts[w]++
		}
		for w := range counts {
			b.with[w]++
		}
		b.counts = append(b.counts, counts)
		b.length = append(b.length, float64(len(words)))
		b.mean += float64(len(words)) / float64(len(tools))
	}
	return b
}

// find returns the first tools for a query.
func (b *bm25) find(query string) []int {
	scores, order := make([]float64, len(b.counts)), make([]int, len(b.counts))
	n := float64(len(b.counts))
	for i, counts := range b.counts {
		order[i] = i
		for _, w := range plainWords(query) {
			tf, df := float64(counts[w]), float64(b.with[w])
			if tf > 0 {
				scores[i] += math.Log(1+(n-df+0.5)/(df+0.5)) * tf * 2.2 / (tf + 1.2*(0.25+0.75*b.length[i]/b.mean))
			}
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(scores[j], scores[i]) })
	return order[:min(first, len(order))]
}

// plainWords splits a text as the simple rankers do.
func plainWords(text string) []string {
	text = regexp.MustCompile(`([a-z0-9])([A-Z])`).ReplaceAllString(text, "$1 $2")
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && (r < 0x4e00 || r > 0x9fff)
	})
	for i, w := range words {
		for _, end := range []string{"ing", "ed", "es", "s"} {
			if short, ok := strings.CutSuffix(w, end); ok && len(short) >= 3 {
				words[i] = short
				break
			}
		}
	}
	return words
}
