package toolfind

import (
	"cmp"
	"math"
	"slices"

	"github.com/weirhost/weir/host/internal/toolindex"
	"github.com/weirhost/weir/host/internal/vector"
)

const (
	// maxRanked is how many tools by words, and how many by vectors, are ranked together.
	maxRanked = 60
	// rankOffset makes the first places of a list count little more than the next ones.
	rankOffset = 60
	// leastCosine is how near a tool must be that no word of the query finds.
	leastCosine = 0.3
)

// searched is what tools are searched in.
type searched struct {
	*toolindex.Index
	vectors    [][]byte // of the tools, by their places in the index; nil: a tool has none
	hasVectors bool
}

// A nearTool is a tool with its cosine with a query.
type nearTool struct {
	tool   int
	cosine float64
}

// fused returns the tools that a query is about by its words or its vector: those that it
// names, then the others by their places in both lists.
func (s *searched) fused(query []float32, q Query) []Found {
	hits := q.hits(s.Index, max(q.Count, maxRanked))
	named := 0
	for named < len(hits) && hits[named].Named {
		named++
	}
	near, cosines := s.near(query, q, len(hits) > named)
	ranks := map[int]float64{}
	for i, h := range hits[named:] {
		ranks[h.Tool] += 1 / float64(rankOffset+i)
	}
	for i, n := range near {
		isNew := ranks[n.tool] == 0 && !slices.ContainsFunc(hits[:named], func(h toolindex.Hit) bool { return h.Tool == n.tool })
		if ranks[n.tool] += 1 / float64(rankOffset+i); isNew {
			hits = append(hits, toolindex.Hit{Tool: n.tool})
		}
	}
	slices.SortStableFunc(hits[named:], func(a, b toolindex.Hit) int { return cmp.Compare(ranks[b.Tool], ranks[a.Tool]) })
	var out []Found
	for _, h := range hits[:min(len(hits), max(q.Count, 0))] {
		out = append(out, names(s.Index, []toolindex.Hit{h}, 1)...)
		out[len(out)-1].Near = cosines[h.Tool]
	}
	return out
}

// near returns the tools that are near a query by their cosines, the nearest first,
// and the cosines of all that the caller sees, by their places. Some tool is always the nearest, and how
// near says little: models differ. So a tool has to be nearer than the nearest of as many
// tools without any relation would be; much nearer, where no word of the query fits.
func (s *searched) near(query []float32, q Query, wordsFit bool) ([]nearTool, map[int]float64) {
	among, cosines := q.among(s.Index), map[int]float64{}
	var sum, squares float64
	for i, v := range s.vectors {
		if len(v) != 4*len(query) || !among(i) { // it has none, or is not seen
			continue
		}
		c := vector.Dot(query, v)
		sum, squares = sum+c, squares+c*c
		cosines[i] = c
	}
	n := float64(len(cosines))
	mean := sum / n
	spread := math.Sqrt(max(squares/n-mean*mean, 0))
	chance := math.Sqrt(2 * math.Log(n)) // how far the nearest of n is from their mean by chance
	least := mean + (chance-0.5)*spread
	if !wordsFit {
		least = max(mean+(chance+1)*spread, leastCosine)
	}
	var out []nearTool
	for i, c := range cosines {
		if c > least {
			out = append(out, nearTool{i, c})
		}
	}
	slices.SortFunc(out, func(a, b nearTool) int { return cmp.Or(cmp.Compare(b.cosine, a.cosine), cmp.Compare(a.tool, b.tool)) })
	return out[:min(len(out), maxRanked)], cosines
}
