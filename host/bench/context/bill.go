package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/weirhost/weir/agent"
)

// What prompts cost. Providers differ; the shares between the rows do not
// depend on the price.
const (
	price      = 3.0 // dollars for a million tokens of a prompt that no cache holds
	cacheRead  = 0.1 // of the price, for cached tokens
	cacheWrite = 1.25
)

// A bill counts the requests of a session.
type bill struct {
	estimator agent.Estimator // never calibrated: every row is counted alike
	ids       map[string]string
	last      []string // the pieces of the request before

	requests int
	turns    []int // tokens of each turn's requests
	tokens   int
	read     int // tokens of them that the request before began with
}

// add counts a turn's requests.
func (b *bill) add(requests []agent.Request) {
	sum := 0
	for _, r := range requests {
		pieces := b.pieces(r)
		tokens := 0
		for _, p := range pieces {
			tokens += b.estimator.Tokens(p)
		}
		sum += tokens
		b.read += b.common(pieces)
		b.last = pieces
	}
	b.requests += len(requests)
	b.turns = append(b.turns, sum)
	b.tokens += sum
}

var uuidPattern = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// pieces are a request's texts in order. Ids are random, and how random digits
// fall into tokens is chance: they are counted as numbers in their order.
func (b *bill) pieces(r agent.Request) []string {
	if b.ids == nil {
		b.ids = map[string]string{}
	}
	number := func(id string) string {
		if b.ids[id] == "" {
			b.ids[id] = fmt.Sprintf("01234567-89ab-7cde-8f01-%012d", len(b.ids)+1)
		}
		return b.ids[id]
	}
	pieces := []string{r.System}
	for _, m := range r.Messages {
		pieces = append(pieces, m.Role+"\n"+uuidPattern.ReplaceAllStringFunc(m.Text, number))
	}
	return pieces
}

// common is how many tokens at the beginning are those of the request before:
// what a provider's prompt cache would serve.
func (b *bill) common(pieces []string) int {
	tokens := 0
	for i, p := range pieces {
		if i >= len(b.last) {
			break
		}
		if p != b.last[i] {
			return tokens + b.estimator.Tokens(commonPrefix(p, b.last[i]))
		}
		tokens += b.estimator.Tokens(p)
	}
	return tokens
}

func commonPrefix(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return strings.ToValidUTF8(a[:n], "")
}

// dollars is what the prompts cost with a cache.
func (b *bill) dollars() float64 {
	return (float64(b.read)*cacheRead + float64(b.tokens-b.read)*cacheWrite) * price / 1e6
}
