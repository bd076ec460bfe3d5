package demo

import (
	"encoding/json"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/weirhost/weir/sdk/tool"
)

// The agent's and the host's own tools, which are not chosen by their words.
const (
	describeTool = tool.DescribeTool
	loadTool     = tool.LoadHistory
	searchTool   = tool.SearchHistory
)

// leastScore is what a tool needs to be called at all.
const leastScore = 2.2

// likeWeight is what a question scores that has all words of an example.
const likeWeight = 3.5

// A choice is a tool that fits a question, with its arguments.
type choice struct {
	tool  toolInfo
	args  object
	score float64
}

// next decides the calls to make now; none: it is time to answer.
func next(s scene) []tool.Call {
	if c, ok := loadMore(s); ok {
		return c
	}
	if len(s.results) == 0 && refersBack(s.question) {
		if c, ok := search(s); ok {
			return c
		}
		if c, ok := load(s); ok {
			return c
		}
		if len(s.earlier) > 0 {
			return nil
		}
	}
	if slices.ContainsFunc(s.calls, func(c tool.Call) bool { return c.Tool == loadTool || c.Tool == searchTool }) {
		return nil // what was asked for has been brought back
	}
	steps, together := clauses(s.question)
	done := 0
	for _, r := range s.results {
		if r.tool != describeTool && r.tool != loadTool {
			done++
		}
	}
	if together && done == 0 {
		return s.newCalls(s.pickAll(steps))
	}
	if together || done >= len(steps) || failedLast(s) {
		return nil
	}
	c, ok := s.pick(steps[done], s.results)
	if !ok && done == 0 && len(steps) > 1 {
		c, ok = s.pick(s.question, nil)
	}
	if !ok {
		return nil
	}
	return s.newCalls([]choice{c})
}

func failedLast(s scene) bool {
	return len(s.results) > 0 && isFailure(s.results[len(s.results)-1].text)
}

// pickAll chooses a tool for each of several questions; a question that none
// fits is left out.
func (s scene) pickAll(steps []string) []choice {
	var out []choice
	for _, step := range steps {
		if c, ok := s.pick(step, nil); ok {
			out = append(out, c)
		}
	}
	return out
}

var (
	thenRe     = whenAsked(`(?i)[,;.]?\s+(?:and )?then,?\s+|[，,；;。]?\s*(?:然后|接着|再)\s*`)
	sentenceRe = whenAsked(`[?？;；]\s*|。|\.\s+(?:[A-Z]|$)|[，,]?\s*(?:另外|同时)\s*|\.?\s+(?i:also)\s+`)
)

// clauses splits a question into steps that follow each other, or else into
// questions that can be asked together.
func clauses(question string) (steps []string, together bool) {
	if steps = split(thenRe(), question); len(steps) > 1 {
		return steps, false
	}
	if steps = split(sentenceRe(), question); len(steps) > 1 {
		return steps, true
	}
	return []string{question}, false
}

func split(re *regexp.Regexp, s string) []string {
	var out []string
	for _, p := range re.Split(quotedGuard(s), -1) {
		if p = strings.TrimSpace(strings.ReplaceAll(p, "\x00", ".")); p != "" {
			out = append(out, p)
		}
	}
	return out
}

// quotedGuard hides the full stops of quotations and names, which end no sentence.
func quotedGuard(s string) string {
	return quotedRe().ReplaceAllStringFunc(s, func(q string) string { return strings.ReplaceAll(q, ".", "\x00") })
}

// newCalls makes the calls of choices that were not made before in this turn.
func (s scene) newCalls(choices []choice) []tool.Call {
	var out []tool.Call
	for _, c := range choices {
		args := c.args.json()
		made := slices.ContainsFunc(append(s.calls, out...), func(o tool.Call) bool {
			return o.Tool == c.tool.name && string(o.Args) == string(args)
		})
		if !made {
			out = append(out, tool.Call{ID: callID(len(s.calls) + len(out) + 1), Tool: c.tool.name, Args: args})
		}
	}
	return out
}

// pick chooses the tool that fits best and whose arguments can be filled.
// before are the results that a later step may take its arguments from.
func (s scene) pick(question string, before []result) (choice, bool) {
	asked := factsOf(question)
	f := asked
	for _, r := range before {
		for _, m := range hitRe().FindAllStringSubmatch(r.text, -1) {
			f.paths = append(f.paths, m[1])
		}
		f.paths = append(f.paths, factsOf(firstRunes(r.text, 2000)).paths...)
	}
	weights := s.weights()
	var best choice
	for _, t := range s.tools {
		if t.name == describeTool || t.name == loadTool || t.name == searchTool {
			continue
		}
		score := t.score(asked, weights)
		if t.brief && score > best.score && score >= leastScore && s.knows(describeTool) {
			args := object{}
			args.set("name", t.name)
			best = choice{toolInfo{name: describeTool}, args, score}
			continue
		}
		args, ok := t.asInExample(question)
		if ok {
			score += 3
		} else {
			args, ok = t.fill(f)
		}
		if ok && score > best.score {
			best = choice{t, args, score}
		}
	}
	return best, best.score >= leastScore
}

// hitRe is how searches write a file and a line of it.
var hitRe = whenAsked(`(?m)^([\w./-]*\w\.\w+)[:-]\d+`)

func (s scene) knows(name string) bool {
	return slices.ContainsFunc(s.tools, func(t toolInfo) bool { return t.name == name })
}

// weights says how telling a word is: one that stands in every tool's
// description chooses none of them.
func (s scene) weights() map[string]float64 {
	count := map[string]int{}
	for _, t := range s.tools {
		for w := range termSet(t.allText()) {
			count[w]++
		}
	}
	out := map[string]float64{}
	for w, n := range count {
		out[w] = math.Log2(1 + float64(len(s.tools)+1)/float64(n))
	}
	return out
}

func (t toolInfo) allText() string {
	var b strings.Builder
	b.WriteString(t.name + " " + t.about)
	for _, p := range t.params {
		b.WriteString(" " + p.name + " " + p.about)
	}
	for _, e := range t.examples {
		b.WriteString(" " + e.ask)
	}
	return b.String()
}

// score says how well a tool fits a question: by shared words, most in its
// name, and by the shapes that the question holds and the arguments want.
func (t toolInfo) score(f facts, weights map[string]float64) float64 {
	name, about := termSet(strings.ReplaceAll(t.name, "_", " ")), termSet(t.about)
	args := map[string]bool{}
	for _, p := range t.params {
		for w := range termSet(strings.ReplaceAll(p.name, "_", " ") + " " + p.about) {
			args[w] = true
		}
	}
	examples := map[string]bool{}
	for _, e := range t.examples {
		maps.Copy(examples, e.words())
	}
	asked := termSet(f.plain)
	score := 0.0
	for w := range asked {
		weight := min(weights[w], 3)
		switch {
		case name[w]:
			score += weight
		case about[w], examples[w]:
			score += 0.5 * weight
		case args[w]:
			score += 0.25 * weight
		}
	}
	score += t.likeExample(asked)
	for _, p := range t.params {
		score += p.shape(f)
	}
	if kinds := endingRe().FindAllString(strings.ToLower(t.about), -1); len(kinds) > 0 && len(f.paths) > 0 {
		if slices.ContainsFunc(f.paths, func(path string) bool { return slices.Contains(kinds, strings.ToLower(endingRe().FindString(path))) }) {
			score += 3
		} else {
			score -= 4 // it reads another kind of file
		}
	}
	return math.Round(score*1000) / 1000 // sums over a set have no order
}

// words are the words of an example's question that are not its arguments.
func (e example) words() map[string]bool {
	words := termSet(plainOf(e.ask))
	for _, v := range e.args {
		value := strings.Trim(string(v), `"`)
		if !strings.Contains(e.ask, value) {
			continue
		}
		for _, w := range terms(value) {
			delete(words, w)
		}
	}
	return words
}

// endingRe finds the kinds of file that a description names, as in "(.xlsx)".
var endingRe = whenAsked(`\.[A-Za-z][A-Za-z0-9]{1,4}\b`)

// likeExample compares the question with those of the tool's examples: the
// share of an example's words that it has.
func (t toolInfo) likeExample(asked map[string]bool) float64 {
	best := 0.0
	for _, e := range t.examples {
		words := e.words()
		n := 0
		for w := range words {
			if asked[w] {
				n++
			}
		}
		if len(words) > 0 {
			best = max(best, likeWeight*float64(n)/float64(max(len(words), 2)))
		}
	}
	return best
}

// asInExample takes the arguments of an example that asks the same.
func (t toolInfo) asInExample(question string) (object, bool) {
	var args object
	for _, e := range t.examples {
		if asked := termSet(question); len(asked) == 0 || !maps.Equal(asked, termSet(e.ask)) {
			continue
		}
		for _, p := range t.params {
			if v, ok := e.args[p.name]; ok {
				args.set(p.name, v)
			}
		}
		return args, true
	}
	return args, false
}

// shape says how much an argument wants what the question holds.
func (p paramInfo) shape(f facts) float64 {
	role := p.role()
	switch {
	case role == roleURL && len(f.urls) > 0:
		return 6
	case role == roleExpression && f.expr != "":
		return 6
	case role == roleFile && len(f.paths) > 0:
		return 2.5
	case role == rolePattern && whereRe().MatchString(f.text):
		return 3
	case role == rolePattern && len(f.quoted)+len(f.idents) > 0:
		return 1.5
	case role == rolePattern && searched(f) != nil:
		return 1
	case role == roleFolder && (slices.ContainsFunc(f.paths, isFolder) || folderRe().MatchString(f.text)):
		return 1
	case role == roleGlob && len(f.globs) > 0:
		return 1.5
	case role == roleFrom && (f.from != "" || f.first != "") && len(f.paths) > 0:
		return 1
	}
	return 0
}

var (
	whereRe  = whenAsked(`(?i)\bwhere (?:is|are)\b.*\b(?:defin|declar|used|call|return|implement|import|set\b)`)
	folderRe = whenAsked(`(?i)\b(?:folder|directory|package)\b|目录|文件夹`)
)

// An object is the arguments of a call, in the order they were set.
type object struct {
	keys   []string
	values []any
}

func (o *object) set(key string, value any) {
	o.keys = append(o.keys, key)
	o.values = append(o.values, value)
}

func (o *object) json() json.RawMessage {
	var b strings.Builder
	b.WriteByte('{')
	for i, k := range o.keys {
		if i > 0 {
			b.WriteByte(',')
		}
		key, _ := json.Marshal(k)             // a string always encodes
		value, _ := json.Marshal(o.values[i]) // so do strings, numbers and booleans
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return json.RawMessage(b.String())
}
