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
	// maxLift is how much the score of a tool rises that always follows the one used last.
	maxLift = 0.3
	// leastCosine is how near a tool must be that no word of the query finds.
	leastCosine = 0.3
	// leastCompared is the number of tools from which on their cosines are compared.
	leastCompared = 20
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

// rank returns the tools that a query is about: those that it names, then the others by
// their words; those that follow what was used last a little earlier; and, with the vector
// of the query, by their places in this list and in that of the nearest.
func (s *searched) rank(query []float32, follows func(tool string) float64, q Query) []Found {
	hits := q.hits(s.Index, max(q.Count, maxRanked))
	named := 0
	for named < len(hits) && hits[named].Named {
		named++
	}
	lift(hits[named:], func(tool int) float64 { return follows(s.Tool(tool).Name) })
	near, cosines := s.near(query, q, len(hits) > named)
	if len(near) > 0 {
		hits = fuse(hits, named, near)
	}
	out := names(s.Index, hits, q.Count)
	for i, h := range hits[:len(out)] { // the names of a host's tools differ
		if out[i].Follows = follows(out[i].Name); cosines != nil {
			out[i].Near = cosines[h.Tool]
		}
	}
	return out
}

// lift raises the scores of tools that follow what was used last, and sorts them again.
func lift(hits []toolindex.Hit, follows func(tool int) float64) {
	for i, h := range hits {
		hits[i].Score *= 1 + maxLift*follows(h.Tool)
	}
	slices.SortStableFunc(hits, func(a, b toolindex.Hit) int { return cmp.Compare(b.Score, a.Score) })
}

// fuse joins hits, of which the first ones are named, with the nearest tools by
// reciprocal rank.
func fuse(hits []toolindex.Hit, named int, near []nearTool) []toolindex.Hit {
	ranks := map[int]float64{}
	for i, h := range hits[named:] {
		ranks[h.Tool] = 1 / float64(rankOffset+i)
	}
	for i, n := range near {
		if !slices.ContainsFunc(hits, func(h toolindex.Hit) bool { return h.Tool == n.tool }) {
			hits = append(hits, toolindex.Hit{Tool: n.tool})
		}
		ranks[n.tool] += 1 / float64(rankOffset+i)
	}
	slices.SortStableFunc(hits[named:], func(a, b toolindex.Hit) int { return cmp.Compare(ranks[b.Tool], ranks[a.Tool]) })
	return hits
}

// near returns the tools that are near a query by their cosines, the nearest first,
// and the cosines of all tools by their places: 0 of those that the caller does not see.
// Some tool is always the nearest, and how near says little: models differ. So a tool has
// to be nearer than the nearest of as many tools without any relation would be; much
// nearer, where no word of the query fits. Of few tools that cannot be known.
func (s *searched) near(query []float32, q Query, wordsFit bool) (out []nearTool, cosines []float64) {
	if query == nil {
		return nil, nil
	}
	among, cosines := q.among(s.Index), make([]float64, len(s.vectors))
	var n, sum, squares float64
	for i, v := range s.vectors {
		if len(v) != 4*len(query) || !among(i) { // it has none, or is not seen
			continue
		}
		c := vector.Dot(query, v)
		n, sum, squares = n+1, sum+c, squares+c*c
		cosines[i] = c
	}
	if n < leastCompared {
		return nil, cosines
	}
	mean := sum / n
	spread := math.Sqrt(max(squares/n-mean*mean, 0))
	chance := math.Sqrt(2 * math.Log(n)) // how far the nearest of n is from their mean by chance
	least := mean + (chance-0.5)*spread
	if !wordsFit {
		least = max(mean+(chance+1)*spread, leastCosine)
	}
	for i, c := range cosines {
		if c > max(least, 0) {
			out = append(out, nearTool{i, c})
		}
	}
	slices.SortFunc(out, func(a, b nearTool) int { return cmp.Or(cmp.Compare(b.cosine, a.cosine), cmp.Compare(a.tool, b.tool)) })
	return out[:min(len(out), maxRanked)], cosines
}
