// Package toolindex finds tools by what a question says, among thousands and without
// any service. It compares words by their stems, by synonyms of the trade and by
// spelling, Chinese by pairs of characters. The same tools and the same question give
// the same list.
//
// # Files
//
//   - find: a search
//   - index: the index
//   - words, lexicon, near, synonyms: words
//   - names: names in a question
//   - values: arguments in a question
//   - schema: parameters
package toolindex

import (
	"cmp"
	"encoding/json"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// A Tool is what is known about a tool. Only Name is necessary.
type Tool struct {
	Name        string          `json:"name"`
	Written     string          `json:"-"`                // the name with the capital letters of its author; empty: Name
	Server      string          `json:"server,omitempty"` // where it comes from: a plugin, an MCP server
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"` // JSON Schema
	Examples    []string        `json:"examples,omitempty"`
	Tags        []string        `json:"tags,omitempty"`
	Questions   []string        `json:"questions,omitempty"` // that it would answer, as a model wrote them
}

// written returns the name whose words count.
func (t Tool) written() string { return cmp.Or(t.Written, t.Name) }

// isNamed reports whether a text is the tool's name, or the one that its author wrote.
func (t Tool) isNamed(text string) bool { return t.Name == text || t.Written == text && text != "" }

// A field is a part of a tool.
type field uint8

const (
	inName field = iota
	inServer
	inLead // the first sentence of the description
	inDescription
	inParams
	inParamText
	inExamples
	inTags
	inQuestions
	fields
)

// settings are the weights of the ranking.
type settings struct {
	weight    [fields]float64
	length    [fields]float64 // how much a long field counts less, 0 to 1
	saturate  float64         // how soon repetition counts no more
	synonym   float64         // of a word that means the same
	bySource  float64         // the share of sources, not tools, in how rare a word is
	cover     float64         // how much the share of the question that is matched counts
	names     float64         // how much the share of the name that is matched counts
	neighbour float64         // of two neighbouring words of the question that are neighbours in the tool
	weak      float64         // of a word that says little
	unknown   float64         // how much a word that no tool has counts in the share
	proper    float64         // of such a word that is written as the name of a place or person is
}

// defaults are tuned on half of the questions of two public benchmarks; see RATIONALE.md.
func defaults() settings {
	return settings{
		weight:   [fields]float64{3, 1.5, 2, 1, 0.6, 0.25, 1, 2, 1},
		length:   [fields]float64{0.7, 0.3, 0.8, 0.75, 0.2, 0.4, 0.75, 0.5, 0.75},
		saturate: 2, synonym: 0.7, bySource: 0.3, cover: 0.3, names: 2, neighbour: 0.4, weak: 0.5, unknown: 0.6, proper: 0.1,
	}
}

// A posting says how much of a tool is about a word.
type posting struct {
	tool   int32
	weight float32 // over all fields, before saturation
	in     uint16  // a bit for each field
}

// An Index holds tools to search in. It is safe for concurrent use.
type Index struct {
	set   settings
	tools []Tool
	lexicon
	postings [][]posting // of the words that are terms, by their places
	rarity   []float64
	highest  float64 // the rarity of a word that no tool has
	names    nameTable
	inNames  [][]int32 // the terms of each tool's name
	near     trigrams
	synonyms map[string][]related
	order    [][]int32 // the terms of each tool's name and first sentence, as they follow
}

// New returns an index of tools.
func New(tools []Tool) *Index { return newIndex(tools, defaults()) }

func newIndex(tools []Tool, set settings) *Index {
	b := readAll(tools, set, min(runtime.GOMAXPROCS(0), maxReaders))
	b.splitNames()
	return b.index()
}

// maxReaders is how many parts of a list are read at the same time, and leastRead how
// many tools a part has at least.
const maxReaders, leastRead = 4, 200

// readAll counts the words of all tools. The result is the same for every number of
// readers.
func readAll(tools []Tool, set settings, readers int) *builder {
	size := max((len(tools)+readers-1)/readers, leastRead)
	x := Index{set: set, tools: tools, inNames: make([][]int32, len(tools)), order: make([][]int32, len(tools))}
	counts, lengths := make([][]count, len(tools)), make([][fields]float64, len(tools))
	parts := []*builder{newBuilder(x, counts, lengths, 0, min(size, len(tools)))}
	for from := size; from < len(tools); from += size {
		parts = append(parts, newBuilder(x, counts, lengths, from, min(from+size, len(tools))))
	}
	var wg sync.WaitGroup
	for _, b := range parts[1:] {
		wg.Go(b.read)
	}
	parts[0].read()
	wg.Wait()
	for _, b := range parts[1:] {
		parts[0].join(b)
	}
	parts[0].readers = readers
	return parts[0]
}

// Len returns how many tools are in the index.
func (x *Index) Len() int { return len(x.tools) }

// Tool returns the tool at a place of the list that the index was made of.
func (x *Index) Tool(i int) Tool { return x.tools[i] }

// term returns the place of a term.
func (x *Index) term(stem string) (int32, bool) {
	i, ok := x.find(stem)
	return i, ok && x.words[i].term
}

// A builder collects the words of the tools at the places from to to.
type builder struct {
	x        *Index
	readers  int // how many make the postings
	from, to int
	counts   [][]count // of each tool
	lengths  [][fields]float64
	nth      int32   // the number of the tool that is read, from 1
	tool     []count // of that tool
}

// A count is how often a tool has a term in its fields.
type count struct {
	id int32
	in [fields]uint16
}

// newWords is about how many words a tool has that no other tool has.
const newWords = 8

// newBuilder returns a builder for a part of the tools of x. All parts share inNames,
// order, counts and lengths, each for its own tools; the words are its own.
func newBuilder(x Index, counts [][]count, lengths [][fields]float64, from, to int) *builder {
	x.lexicon = newLexicon(newWords * (to - from))
	return &builder{x: &x, from: from, to: to, counts: counts, lengths: lengths, nth: 1}
}

// read counts the words of the builder's tools.
func (b *builder) read() {
	for i := b.from; i < b.to; i++ {
		b.readTool(i)
	}
}

// join adds what a builder of later tools has counted.
func (b *builder) join(o *builder) {
	ids := make([]int32, len(o.x.words)) // the places in b, by those in o
	for i, w := range o.x.words {
		ids[i] = b.x.place(w.text, false)
		own := &b.x.words[ids[i]]
		own.plain, own.term, own.stop = own.plain || w.plain, own.term || w.term, own.stop || w.stop
		own.tools += w.tools
	}
	for i, w := range o.x.words {
		if w.id >= 0 {
			b.x.words[ids[i]].id = ids[w.id]
		}
	}
	for i := o.from; i < o.to; i++ {
		for j, c := range b.counts[i] {
			b.counts[i][j].id = ids[c.id]
		}
		for _, list := range [][]int32{b.x.inNames[i], b.x.order[i]} {
			for j, id := range list {
				list[j] = ids[id]
			}
		}
	}
}

// readTool counts the words of the tool at i.
func (b *builder) readTool(i int) {
	t := b.x.tools[i]
	lead, rest := firstSentence(t.Description)
	names, about := params(t.Parameters)
	texts := [fields]string{t.written(), t.Server, lead, rest, names, about, strings.Join(t.Examples, "\n"), strings.Join(t.Tags, "\n"), strings.Join(t.Questions, "\n")}
	for f, text := range texts {
		eachWord(text, func(w string) { b.add(i, field(f), w) })
	}
	b.flush(i)
}

// maxRepeated is how often a word counts that a model repeats in its questions.
const maxRepeated = 2

// add counts a word in a field of the tool at i.
func (b *builder) add(i int, f field, word string) {
	w := b.word(word)
	w.plain = w.plain || f == inLead || f == inDescription
	if w.stop && f != inName {
		return
	}
	term := &b.x.words[w.id]
	if term.nth != b.nth {
		term.nth, term.count = b.nth, int32(len(b.tool))
		b.tool = append(b.tool, count{id: w.id})
	}
	sum := &b.tool[term.count].in
	most := uint16(1000)
	if f == inQuestions {
		most = maxRepeated
	}
	sum[f] = min(sum[f]+1, most)
	b.lengths[i][f]++
	if f == inName && !w.stop {
		b.x.inNames[i] = append(b.x.inNames[i], w.id)
	}
	if f == inName || f == inLead {
		b.x.order[i] = append(b.x.order[i], w.id)
	}
}

// flush stores what was counted for the tool at i.
func (b *builder) flush(i int) {
	b.counts[i] = append(slices.Clip(b.counts[i]), b.tool...)
	for _, c := range b.tool {
		b.x.words[c.id].tools++
	}
	b.tool = b.tool[:0]
	b.nth++
}

// word returns what is known about a word, with a term for it.
func (b *builder) word(text string) *word {
	i := b.x.place(text, true)
	if b.x.words[i].id < 0 {
		id := b.x.place(stem(b.x.words[i].text), false)
		b.x.words[id].term = true
		b.x.words[i].id, b.x.words[i].stop = id, stop()[text]
	}
	return &b.x.words[i]
}

// plain reports whether a description has this word.
func (x *Index) plain(word string) bool {
	i, ok := x.find(word)
	return ok && x.words[i].plain
}

// firstSentence splits a description after its first sentence, or its first line.
func firstSentence(text string) (lead, rest string) {
	text = strings.TrimSpace(text)
	const enough = 24 // characters; "e.g. " is no sentence
	for i, r := range text {
		if i < enough {
			continue
		}
		switch {
		case r == '\n', r == '。', r == '.' && i+1 < len(text) && (text[i+1] == ' ' || text[i+1] == '\n'):
			return text[:i], text[i:]
		}
	}
	return text, ""
}

// splitNames finds words in names that are written without a separator, as in
// weatherforecast: words of the descriptions, at most four.
func (b *builder) splitNames() {
	const least = 6
	for i, t := range b.x.tools {
		eachWord(t.written(), func(w string) {
			if len(w) < least || !isLatin(w) || b.x.plain(w) {
				return
			}
			for _, part := range b.parts(w, 4) {
				b.add(i, inName, part)
			}
		})
		if verb := b.doing(t.written()); verb != "" {
			b.add(i, inName, verb)
		}
		b.flush(i)
	}
}

// doing returns the verb of a name that says who does it, as read of document_reader,
// if a description has the verb, else "". Stems keep the two apart.
func (b *builder) doing(name string) string {
	var last string
	eachWord(name, func(w string) { last = w })
	base, ok := strings.CutSuffix(last, "er")
	if !ok || !isLatin(last) {
		return ""
	}
	verbs := []string{base, base + "e"}
	if n := len(base); n > 3 && base[n-1] == base[n-2] {
		verbs = append(verbs, base[:n-1]) // getter
	}
	for _, verb := range verbs {
		if b.x.plain(verb) {
			return verb
		}
	}
	return ""
}

// parts splits a word into at most most known words, the longest first.
func (b *builder) parts(word string, most int) []string {
	if most == 0 {
		return nil
	}
	for n := len(word); n >= 3; n-- {
		if !b.x.plain(word[:n]) {
			continue
		}
		if n == len(word) {
			return []string{word}
		}
		if rest := b.parts(word[n:], most-1); rest != nil {
			return append([]string{word[:n]}, rest...)
		}
	}
	return nil
}

// index weighs the counted words.
func (b *builder) index() *Index {
	x := b.x
	n := float64(max(len(x.tools), 1))
	var mean [fields]float64
	for _, l := range b.lengths {
		for f := range mean {
			mean[f] += l[f] / n
		}
	}
	b.post(&mean)
	x.weighRarity()
	x.near = newTrigrams(x.words)
	x.synonyms = synonymTable()
	x.names = newNameTable(x.tools, func(word string) bool {
		return stop()[word] || x.plain(word) || x.synonyms[stem(word)] != nil
	})
	return x
}

// post makes the postings, with a part of the terms for each reader.
func (b *builder) post(mean *[fields]float64) {
	x, total := b.x, int32(0)
	for i := range x.words {
		total += x.words[i].tools
	}
	x.postings = make([][]posting, len(x.words))
	room := make([]posting, total)
	for id := range x.words {
		n := x.words[id].tools
		x.postings[id], room = room[:0:n], room[n:]
	}
	var wg sync.WaitGroup
	for part := range b.readers {
		wg.Go(func() {
			for i, list := range b.counts {
				for j := range list {
					if c := &list[j]; int(c.id)%b.readers == part {
						x.postings[c.id] = addPosting(x.postings[c.id], b.posting(i, c, mean))
					}
				}
			}
		})
	}
	wg.Wait()
}

// posting returns the posting of a count of the tool at i; mean is the length of the fields
// of all tools.
func (b *builder) posting(i int, c *count, mean *[fields]float64) posting {
	p, set := posting{tool: int32(i)}, &b.x.set
	for f, count := range c.in {
		if count > 0 {
			norm := 1 - set.length[f] + set.length[f]*b.lengths[i][f]/mean[f]
			p.weight += float32(set.weight[f] * float64(count) / norm)
			p.in |= 1 << f
		}
	}
	return p
}

// addPosting adds a posting, to that of the same tool if there is one: names that were
// split are counted after everything else.
func addPosting(list []posting, p posting) []posting {
	if n := len(list); n > 0 && list[n-1].tool == p.tool {
		list[n-1].weight += p.weight
		list[n-1].in |= p.in
		return list
	}
	return append(list, p)
}

// weighRarity computes how rare each word is, among tools and among their sources: a
// word that one server uses in all its tools still points at this server.
func (x *Index) weighRarity() {
	sources := map[string]int{}
	source, all := make([]int, len(x.tools)), 0
	for i, t := range x.tools {
		id, ok := sources[t.Server]
		if !ok || t.Server == "" {
			id = all
			all++
			sources[t.Server] = id
		}
		source[i] = id
	}
	x.rarity = make([]float64, len(x.postings))
	seen := make([]int, all) // by which term, and one, a source was seen last
	for id, list := range x.postings {
		with := 0
		for _, p := range list {
			if seen[source[p.tool]] != id+1 {
				seen[source[p.tool]] = id + 1
				with++
			}
		}
		byTool, bySource := rarity(len(list), len(x.tools)), rarity(with, all)
		x.rarity[id] = (1-x.set.bySource)*byTool + x.set.bySource*bySource
	}
	x.highest = (1-x.set.bySource)*rarity(1, len(x.tools)) + x.set.bySource*rarity(1, all)
}

func rarity(with, of int) float64 {
	return math.Log(1 + (float64(of)-float64(with)+0.5)/(float64(with)+0.5))
}

// sortHits orders hits: best first, then by their place in the list.
func sortHits(hits []Hit) {
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Tool, b.Tool))
	})
}
