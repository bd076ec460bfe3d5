// Package describe writes the short description of a tool result that its placeholder
// shows: a summary of the text (Summarize), the files and pages it comes from (Sources),
// and what the call asked for (Query). It asks no model. It recognises the kind of a
// text, such as JSON, a log or a table (kind.go), and picks what matters in that kind.
package describe

import (
	"sort"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/weirhost/weir/host/internal/jsonscan"
	"github.com/weirhost/weir/host/internal/snippet"
)

// DefaultChars is the length of a summary in characters if the caller sets none.
const DefaultChars = 200

// Summarize returns a summary of a text, one line of at most chars characters: the
// structure of JSON, the head and the ends of a table, the files and counts of a
// search, the levels and the first error of a log, the headings of Markdown, the
// definitions of a program, the most important sentences of prose. The same text always
// has the same summary. All words are from the text, so the summary has its language.
// If chars is 0 or negative, it is DefaultChars.
func Summarize(text string, chars int) string {
	if chars <= 0 {
		chars = DefaultChars
	}
	if utf8.RuneCountInString(text[:min(len(text), utf8.UTFMax*chars+1)]) <= chars {
		return snippet.OneLine(text)
	}
	var s string
	switch kindOf(text) {
	case jsonText:
		s = shape(strings.TrimSpace(text), chars, 0)
	case matches:
		s = sumMatches(text)
	case logText:
		s = sumLog(text)
	case table:
		s = sumTable(text)
	case code:
		s = sumLines(text, chars, isDefinition, signature)
	case markdown:
		s = sumMarkdown(text, chars)
	}
	if s = snippet.OneLine(s); s == "" {
		s = snippet.OneLine(sumProse(text, chars))
	}
	return snippet.Clip(s, chars)
}

// shape returns the structure of a JSON value: small scalars as they are, objects as
// their keys, arrays as their length and first item.
func shape(value string, room, depth int) string {
	const deep, text = 2, 40
	if value == "" {
		return ""
	}
	var b strings.Builder
	switch value[0] {
	case '{':
		b.WriteByte('{')
		for key, v := range jsonscan.Members(value) {
			if b.Len() > 1 {
				b.WriteString(", ")
			}
			b.WriteString(snippet.Clip(key, text))
			if depth < deep {
				b.WriteString(": " + shape(v, room-b.Len(), depth+1))
			}
			if b.Len() > room {
				break
			}
		}
		b.WriteByte('}')
	case '[':
		if depth > deep {
			return "[…]"
		}
		n, first := 0, ""
		for v := range jsonscan.Items(value) {
			if n == 0 {
				first = v
			}
			n++
		}
		if n == 0 {
			return "[]"
		}
		b.WriteString("[" + strconv.Itoa(n) + " × " + shape(first, room/2, depth+1) + "]")
	case '"':
		return `"` + snippet.ClipLine(jsonscan.Unquote(value), text) + `"`
	default:
		return snippet.Clip(value, text)
	}
	return b.String()
}

// sumMatches returns the files with the most matches, and their counts. Lines of context
// do not count.
func sumMatches(text string) string {
	count := map[string]int{}
	var files []string
	first := ""
	for line := range strings.Lines(text) {
		file := fileAt(line)
		if file == "" || line[len(file)] != ':' {
			continue
		}
		if first == "" {
			first = line
		}
		if count[file] == 0 {
			files = append(files, file)
		}
		count[file]++
	}
	sort.SliceStable(files, func(i, j int) bool { return count[files[i]] > count[files[j]] })
	if len(files) == 0 {
		return ""
	}
	var b strings.Builder
	for _, f := range files[:min(5, len(files))] {
		b.WriteString(f + " ×" + strconv.Itoa(count[f]) + ", ")
	}
	if len(files) > 5 {
		b.WriteString("… " + strconv.Itoa(len(files)) + ", ")
	}
	return strings.TrimSuffix(b.String(), ", ") + "; " + snippet.ClipLine(first, 100)
}

// sumLog returns the counts of the levels, the first line of the worst level, and the
// last line.
func sumLog(text string) string {
	count, first := make([]int, len(levels)), make([]int, len(levels))
	head := text[:min(len(text), sampleBytes)]
	for level, name := range levels {
		count[level], first[level] = countWord(text, name)
		small := strings.ToLower(name)
		if !strings.Contains(head, small) {
			continue // this log does not write the level in lower case
		}
		if n, at := countWord(text, small); n > 0 {
			if count[level] == 0 || at < first[level] {
				first[level] = at
			}
			count[level] += n
		}
	}
	var counts []string
	worst := ""
	for level, n := range count {
		if n == 0 {
			continue
		}
		counts = append(counts, levels[level]+" ×"+strconv.Itoa(n))
		if worst == "" {
			worst = lineAround(text, first[level])
		}
	}
	var parts []string
	last := lineAround(text, max(0, len(strings.TrimRight(text, "\n \t\r"))-1))
	for _, part := range []string{strings.Join(counts, ", "), snippet.ClipLine(worst, 90), snippet.ClipLine(last, 90)} {
		if part != "" && (len(parts) == 0 || part != parts[len(parts)-1]) {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "; ")
}

// countWord returns how often word occurs as a whole word, with or without its usual
// endings, and the byte of its first occurrence.
func countWord(text, word string) (n, first int) {
	for at := 0; ; {
		i := strings.Index(text[at:], word)
		if i < 0 {
			return n, first
		}
		at += i
		rest := text[at+len(word):]
		for _, ending := range []string{"ING", "ED", "ing", "ed"} { // WARNING, FAILED
			rest = strings.TrimPrefix(rest, ending)
		}
		if (at == 0 || !letter(text[at-1])) && (rest == "" || !letter(rest[0])) {
			if n == 0 {
				first = at
			}
			n++
		}
		at += len(word)
	}
}

// lineAround returns the line that contains byte i.
func lineAround(text string, i int) string {
	start := strings.LastIndexByte(text[:i], '\n') + 1
	line, _, _ := strings.Cut(text[start:], "\n")
	return line
}

// sumTable returns the size of a table, its head, first and last row.
func sumTable(text string) string {
	d := delimiter(sample(text))
	var rows []string
	for line := range strings.Lines(text) {
		if !isRule(line) {
			rows = append(rows, line)
		}
	}
	if len(rows) == 0 {
		return ""
	}
	show := func(row string) string {
		var cells []string
		for _, c := range strings.Split(strings.Trim(strings.TrimSpace(row), string(d)), string(d)) {
			cells = append(cells, snippet.Clip(strings.TrimSpace(c), 24))
		}
		return strings.Join(cells, " | ")
	}
	columns := len(strings.Split(strings.Trim(strings.TrimSpace(rows[0]), string(d)), string(d)))
	s := strconv.Itoa(len(rows)-1) + " × " + strconv.Itoa(columns) + ": " + show(rows[0])
	if len(rows) > 1 {
		s += "; " + show(rows[1])
	}
	if len(rows) > 2 {
		s += " … " + show(rows[len(rows)-1])
	}
	return s
}

// sumLines joins the lines for which counts returns true, up to room characters.
func sumLines(text string, room int, counts func(string) bool, show func(string) string) string {
	var parts []string
	for line := range strings.Lines(text) {
		if line = bare(strings.TrimRight(line, "\r\n")); !counts(line) {
			continue
		}
		part := show(line)
		parts = append(parts, part)
		if room -= utf8.RuneCountInString(part) + 2; room <= 0 {
			break
		}
	}
	return strings.Join(parts, "; ")
}

// signature returns a definition without the beginning of its body.
func signature(line string) string {
	return snippet.Clip(strings.TrimRight(strings.TrimSpace(line), " {:;"), 60)
}

// sumMarkdown returns the headings, and the first sentence below them.
func sumMarkdown(text string, room int) string {
	heads := sumLines(text, room*2/3, isHeading, func(line string) string {
		return snippet.Clip(strings.TrimSpace(strings.TrimLeft(line, "#")), 40)
	})
	for line := range strings.Lines(text) {
		t := strings.TrimSpace(line)
		if t == "" || isHeading(t) || isRule(t) || strings.ContainsAny(t[:1], "`>|-*!<[") {
			continue
		}
		return snippet.Clip(heads, room*2/3) + " — " + t
	}
	return heads
}

// proseBytes is the length of the prose that is read for a summary.
const proseBytes = 3 << 10

// sumProse returns the first sentence and those with the most frequent words, in the
// order of the text.
func sumProse(text string, room int) string {
	if len(text) > proseBytes {
		text = strings.ToValidUTF8(text[:proseBytes], "")
	}
	list := sentences(text)
	if len(list) == 0 {
		return ""
	}
	weight := weights(list)
	order := make([]int, 0, len(list))
	for i := 1; i < len(list); i++ {
		order = append(order, i)
	}
	sort.SliceStable(order, func(a, b int) bool { return weight[order[a]] > weight[order[b]] })
	chosen := []int{0}
	left := room - utf8.RuneCountInString(list[0]) - 1
	said := map[string]bool{list[0]: true}
	for _, i := range order {
		if n := utf8.RuneCountInString(list[i]) + 1; n <= left && !said[list[i]] {
			chosen = append(chosen, i)
			left -= n
			said[list[i]] = true
		}
	}
	sort.Ints(chosen)
	parts := make([]string, len(chosen))
	for k, i := range chosen {
		parts[k] = list[i]
	}
	return strings.Join(parts, " ")
}

// sentences splits a text at the ends of sentences and lines.
func sentences(text string) []string {
	var list []string
	start := 0
	add := func(end int) {
		if s := strings.TrimSpace(text[start:end]); s != "" && !isRule(s) {
			list = append(list, s)
		}
		start = end
	}
	for i, r := range text {
		end := i + utf8.RuneLen(r)
		switch r {
		case '\n', '。', '！', '？':
			add(end)
		case '.', '!', '?':
			if end != len(text) && text[end] != ' ' && text[end] != '\n' {
				continue
			}
			if r != '.' || strings.Trim(text[start:i], " 0123456789") != "" { // "1." numbers what follows
				add(end)
			}
		}
	}
	add(len(text))
	return list
}

// weights returns, for each sentence, the mean frequency of its words in all sentences.
func weights(list []string) []float64 {
	count := map[uint32]int{}
	split := make([][]uint32, len(list))
	var all []uint32
	for i, s := range list {
		from := len(all)
		all = words(all, s)
		split[i] = all[from:]
	}
	for _, w := range all {
		count[w]++
	}
	weight := make([]float64, len(list))
	for i, ws := range split {
		sum := 0
		for _, w := range ws {
			sum += count[w]
		}
		if len(ws) > 3 { // a heading or a single number has no weight
			weight[i] = float64(sum) / float64(len(ws)+4)
		}
	}
	return weight
}

// words appends the significant words of a sentence, as hashes: runs of at least four
// letters and digits, and each pair of adjacent Chinese or Japanese characters. Words
// with equal hashes have slightly too much weight, which does no harm.
func words(list []uint32, s string) []uint32 {
	const prime, offset = 16777619, 2166136261
	hash, length, before := uint32(offset), 0, rune(0)
	end := func() {
		if length >= 4 {
			list = append(list, hash)
		}
		hash, length = offset, 0
	}
	for _, r := range s {
		switch {
		case r >= 0x3040 && r < 0xA000: // kana and the common ideographs
			end()
			if before != 0 {
				list = append(list, uint32(before)*prime^uint32(r))
			}
			before = r
			continue
		case r >= 'A' && r <= 'Z':
			r += 'a' - 'A'
			fallthrough
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r >= utf8.RuneSelf && unicode.IsLetter(r):
			hash, length = (hash^uint32(r))*prime, length+1
		default:
			end()
		}
		before = 0
	}
	end()
	return list
}
