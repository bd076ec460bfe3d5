package toolindex

import (
	"math"
	"slices"
	"strings"
)

// maxReordered is how many of the best tools are compared word after word.
const maxReordered = 60

// maxJudged is how many of the best tools decide whether a question finds anything,
// however many are asked for.
const maxJudged = 10

// A Hit is a tool that a question is about.
type Hit struct {
	Tool    int // its place in the list that the index was made of
	Score   float64
	Share   float64  // of the question that it matches, 0 to 1
	Named   bool     // the question has its name
	Reasons []Reason // only from Explain
}

// A Reason is what a word of the question added to a score.
type Reason struct {
	Word    string   `json:"word"`    // of the question
	Matched string   `json:"matched"` // the stem of the tool's word
	Fields  []string `json:"fields"`
	Score   float64  `json:"score"`
}

// A concept is a word of a question with the words that can mean it.
type concept struct {
	word     string
	id       int32 // of its own stem; negative: no tool has it
	variants []variant
	mass     float64 // how much it counts in the share of the question that is matched
}

type variant struct {
	id     int32
	weight float64
	rarity float64
}

// SaysSomething reports whether a question has words that say what it is about: a
// greeting has none.
func SaysSomething(query string) bool { return len(telling(values(ends(query)))) > 0 }

// maxEnd is how many bytes of a long question are read at its beginning, and at its end.
const maxEnd = 2000

// ends returns a question without what is in the middle of a long one: a file that
// somebody asks about, with the question before or after it.
func ends(query string) string {
	if len(query) <= 2*maxEnd {
		return query
	}
	return strings.ToValidUTF8(query[:maxEnd], "") + "\n" + strings.ToValidUTF8(query[len(query)-maxEnd:], "")
}

// Find returns at most count tools, best first: those that the question names, then
// those whose words fit. It returns nothing rather than tools that share a word with
// the question by chance.
func (x *Index) Find(query string, count int) []Hit {
	return x.FindAmong(query, count, func(int) bool { return true })
}

// FindAmong returns what Find returns, of the tools at the places that among accepts.
func (x *Index) FindAmong(query string, count int, among func(tool int) bool) []Hit {
	hits, _ := x.search(query, count, among)
	return hits
}

// Explain returns what FindAmong returns, with the reasons.
func (x *Index) Explain(query string, count int, among func(tool int) bool) []Hit {
	hits, concepts := x.search(query, count, among)
	for i := range hits {
		hits[i].Reasons = x.reasons(int32(hits[i].Tool), concepts)
	}
	return hits
}

func (x *Index) search(query string, count int, among func(tool int) bool) ([]Hit, []concept) {
	query, count = ends(query), max(count, 0)
	concepts := x.concepts(query)
	scores := x.score(concepts, areKeywords(query), seeks(query))
	named := append(x.names.exact(query), x.names.near(query)...)
	var hits []Hit
	seen := map[int32]bool{}
	for _, t := range named {
		if !seen[t] && among(int(t)) {
			seen[t] = true
			hits = append(hits, Hit{Tool: int(t), Score: scores.total[t], Share: scores.share[t], Named: true})
		}
	}
	fitting := scores.best(max(count, maxReordered), func(t int) bool { return !seen[int32(t)] && among(t) })
	sortHits(fitting)
	if !slices.ContainsFunc(fitting[:min(len(fitting), maxJudged)], func(h Hit) bool { return !scores.byChance(h.Tool) }) {
		fitting = nil
	}
	for i := range min(len(fitting), maxReordered) {
		fitting[i].Score += x.neighbours(fitting[i].Tool, concepts)
	}
	sortHits(fitting)
	hits = append(hits, fitting...)
	return hits[:min(len(hits), count)], concepts
}

// concepts returns what a question is about.
func (x *Index) concepts(query string) []concept {
	var out []concept
	words := telling(values(query))
	proper := properNames(query)
	seen := map[string]bool{}
	for i, w := range words {
		term := stem(w)
		if seen[term] {
			continue
		}
		seen[term] = true
		c := x.concept(w, term)
		if i+1 < len(words) && isLatin(w) && isLatin(words[i+1]) {
			c.add(x, stem(w+words[i+1]), 1) // web site
		}
		x.rate(&c, proper[w])
		out = append(out, c)
	}
	return out
}

func (x *Index) concept(word, stem string) concept {
	c := concept{word: word, id: -1}
	if id, ok := x.term(stem); ok {
		c.id = id
	}
	c.add(x, stem, 1)
	for _, r := range x.synonyms[stem] {
		c.add(x, r.stem, x.set.synonym*r.weight)
	}
	if c.id < 0 {
		for _, r := range x.near.alike(stem, 3) {
			c.add(x, r.stem, 0.9*r.weight)
		}
	}
	return c
}

// add adds a word that can mean the concept, if a tool has it.
func (c *concept) add(x *Index, stem string, weight float64) {
	id, ok := x.term(stem)
	if !ok || len(x.postings[id]) == 0 {
		return
	}
	for i, v := range c.variants {
		if v.id == id {
			c.variants[i].weight = max(v.weight, weight)
			return
		}
	}
	c.variants = append(c.variants, variant{id: id, weight: weight})
}

// rate computes how rare the words of a concept are: no other word counts as rarer
// than the word of the question.
func (x *Index) rate(c *concept, proper bool) {
	strength := 1.0
	if weak()[c.word] {
		strength = x.set.weak
	}
	most := math.Inf(1)
	if c.id >= 0 {
		most = x.rarity[c.id]
		c.mass = most
	}
	for i, v := range c.variants {
		c.variants[i].rarity = min(x.rarity[v.id], most)
		if c.id < 0 {
			c.mass = max(c.mass, v.weight*x.rarity[v.id])
		}
	}
	switch {
	case len(c.variants) > 0:
	case proper || !isLatin(c.word):
		c.mass = x.set.proper * x.highest
	default:
		c.mass = x.set.unknown * x.highest
	}
	c.mass *= strength
	for i := range c.variants {
		c.variants[i].rarity *= strength
	}
}

// scored are the scores of all tools.
type scored struct {
	total, share  []float64
	words         []int     // of the question that each tool matches
	about         []float64 // how much each tool is about the word that it is most about
	mass, unknown float64   // of all words of the question, and of those that no tool is about
	keywords      bool      // the question is a few words without a sentence around them
	seeks         bool      // it asks for something
}

// best returns the most tools with the highest scores, and those as good as the last of
// them, of those that among accepts.
func (s scored) best(most int, among func(tool int) bool) []Hit {
	in, n := make([]bool, len(s.total)), 0
	var top []float64 // the highest scores, the lowest of them first
	for t, total := range s.total {
		if in[t] = s.share[t] > 0 && among(t); !in[t] {
			continue
		}
		if n++; most >= len(s.total) || n > most && total <= top[0] {
			continue
		}
		i, _ := slices.BinarySearch(top, total)
		if top = slices.Insert(top, i, total); len(top) > most {
			top = slices.Delete(top, 0, 1)
		}
	}
	hits := make([]Hit, 0, len(top))
	for t, total := range s.total {
		if in[t] && (n <= most || total >= top[0]) {
			hits = append(hits, Hit{Tool: t, Score: total, Share: s.share[t]})
		}
	}
	return hits
}

// byChance reports whether what a tool has in common with a question means nothing:
// it has a word in passing, or beside the words that no tool is about, what it matches is
// little. The fewer words it matches, the more that has to be.
func (s scored) byChance(tool int) bool {
	if s.about[tool] < leastAbout && !s.keywords {
		return true
	}
	matched := s.share[tool] * s.mass
	least := leastOfMore
	switch s.words[tool] {
	case 1:
		least = leastOfOne
	case 2:
		least = leastOfTwo
	}
	if s.seeks {
		least *= leastSought
	}
	return matched < least*(matched+s.unknown)
}

// The least share of a question that a tool has to match by one, two or more words, and
// how much of it is enough in a text that asks for something.
const leastOfOne, leastOfTwo, leastOfMore, leastSought = 0.5, 0.3, 0.05, 0.5

// telltale are the fields whose every word says what a tool is about.
const telltale = 1<<inName | 1<<inServer | 1<<inExamples | 1<<inTags | 1<<inQuestions

// leastAbout is how often, over all fields, a tool has a word that it is about: 1 is once
// in a description of average length. maxKeywords is how many words may be no sentence.
const leastAbout, maxKeywords = 0.8, 2

func (x *Index) score(concepts []concept, keywords, seeks bool) scored {
	n := len(x.tools)
	s := scored{keywords: keywords, seeks: seeks, total: make([]float64, n), share: make([]float64, n), words: make([]int, n), about: make([]float64, n)}
	best, how := make([]float64, n), make([]float64, n)
	matched := make([]float32, len(x.postings)) // by term
	var touched []int32
	var most float64
	for _, c := range concepts {
		s.mass += c.mass
		touched, most = touched[:0], 0
		for _, v := range c.variants {
			matched[v.id] = max(matched[v.id], float32(v.weight))
			isChinese := !isLatin(x.words[v.id].text)
			for _, p := range x.postings[v.id] {
				if best[p.tool] == 0 {
					touched = append(touched, p.tool)
				}
				w := float64(p.weight)
				about := v.weight * w * (1 + x.set.saturate) / (x.set.saturate + w)
				best[p.tool] = max(best[p.tool], v.rarity*about)
				if p.in&telltale != 0 || isChinese && about > leastAbout/2 { // Chinese texts have a pair for each character
					about = max(about, leastAbout)
				}
				s.about[p.tool], most = max(s.about[p.tool], about), max(most, about)
				how[p.tool] = max(how[p.tool], v.weight)
			}
		}
		for _, t := range touched {
			s.total[t] += best[t]
			s.share[t] += c.mass * how[t]
			s.words[t]++
			best[t], how[t] = 0, 0
		}
		switch {
		case len(c.variants) == 0:
			s.unknown += c.mass
		case most < leastAbout && !keywords: // as a word that no tool has
			s.unknown += min(c.mass, x.set.unknown*x.highest)
		}
	}
	for t, total := range s.total {
		if total == 0 {
			continue
		}
		s.share[t] /= s.mass
		s.total[t] = total*(1-x.set.cover+x.set.cover*s.share[t]) + x.set.names*x.nameShare(t, matched)
	}
	return s
}

// nameShare returns how much of a tool's name is matched, by the rarity of its words,
// times the rarity that is matched.
func (x *Index) nameShare(t int, matched []float32) float64 {
	var all, got float64
	for _, id := range x.inNames[t] {
		all += x.rarity[id]
		got += x.rarity[id] * float64(matched[id])
	}
	if all == 0 {
		return 0
	}
	return got / all * min(got, x.highest) / x.highest
}

// neighbours returns how much a tool gains for having neighbouring words of the
// question as neighbours.
func (x *Index) neighbours(tool int, concepts []concept) float64 {
	more := 0.0
	for i := 1; i < len(concepts); i++ {
		a, b := concepts[i-1].id, concepts[i].id
		if a < 0 || b < 0 {
			continue
		}
		gain := x.set.neighbour * min(x.rarity[a], x.rarity[b])
		order := x.order[tool]
		for j := 1; j < len(order); j++ {
			if order[j-1] == a && order[j] == b {
				more += gain
				break
			}
		}
	}
	return more
}

// fieldNames are how Explain names the fields.
var fieldNames = [fields]string{"name", "server", "first sentence", "description", "parameters", "parameter descriptions", "examples", "tags", "a model's questions"}

// reasons returns what each concept added to a tool's score.
func (x *Index) reasons(tool int32, concepts []concept) []Reason {
	var out []Reason
	for _, c := range concepts {
		var best Reason
		for _, v := range c.variants {
			i, ok := slices.BinarySearchFunc(x.postings[v.id], tool, func(p posting, t int32) int { return int(p.tool - t) })
			if !ok {
				continue
			}
			p := x.postings[v.id][i]
			w := float64(p.weight)
			if score := v.weight * v.rarity * w * (1 + x.set.saturate) / (x.set.saturate + w); score > best.Score {
				best = Reason{c.word, x.words[v.id].text, nil, score}
				for f, name := range fieldNames {
					if p.in&(1<<f) != 0 {
						best.Fields = append(best.Fields, name)
					}
				}
			}
		}
		if best.Score > 0 {
			out = append(out, best)
		}
	}
	return out
}
