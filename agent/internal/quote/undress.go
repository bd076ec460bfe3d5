package quote

import (
	"iter"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// readings returns other readings of a text, of which the one as it is has been read: without
// what is in front of its lines and after them. names reports whether a text names a tool; what
// does not holds no call.
//
// What is in front of lines is not known: the signs of mails, comments, differences and
// tables, numbers, the names of files, the time of a log. So it is found as what lines near
// each other have in common, where all numbers are equal. The time is linear in the text: a
// line has few places at which that may end.
func readings(text string, names func(string) bool) iter.Seq[string] {
	return func(yield func(string) bool) {
		if !names(text) {
			return
		}
		lines := strings.Split(text, "\n")
		if near := nearNames(lines, names); len(lines) > 1 {
			if bare := undecorated(near); !yield(bare) {
				return
			}
			if !begun(near, names, yield) {
				return
			}
			f := runs{lines: near, names: names, yield: yield, open: map[shape]*lineRun{}}
			if f.find(); f.done {
				return
			}
		}
		if strings.Contains(text, "'") && !yield(unquoted(text)) {
			return
		}
		eachLine(lines, names, yield)
	}
}

// maxLines is how many lines a call may have in front of the name of its tool, and behind it.
const maxLines = 60

// nearNames returns the lines that are not far from one that names a tool.
func nearNames(lines []string, names func(string) bool) (out []string) {
	next := 0 // the first one that is not in out
	for i, line := range lines {
		if !names(line) {
			continue
		}
		if from, to := max(next, i-maxLines), min(len(lines), i+maxLines); from < to {
			out, next = append(out, lines[from:to]...), to
		}
	}
	return out
}

// begun yields lines of which those that name a tool begin at each of the places in front of the
// name: something else may be in front of the first line of a call alone. It reports what yield does.
func begun(lines []string, names func(string) bool, yield func(string) bool) bool {
	parts, most := make([][]string, len(lines)), 0
	for i, line := range lines {
		if len(line) <= maxLine && names(line) {
			parts[i] = partsOf(line, names)
			most = max(most, len(parts[i]))
		}
	}
	for n := range most {
		var b strings.Builder
		for i, line := range lines {
			if n < len(parts[i]) {
				line = parts[i][n]
			}
			b.WriteString(line + "\n")
		}
		if !yield(b.String()) {
			return false
		}
	}
	return true
}

// unquoted returns a text with line breaks in place of single quotation marks, but for those in
// words: what is a list of lines in a program.
func unquoted(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\'' || i > 0 && i+1 < len(text) && isWord(text[i-1]) && isWord(text[i+1]) {
			b.WriteByte(text[i])
			continue
		}
		b.WriteByte('\n')
		for i+1 < len(text) && strings.IndexByte(" ,+;", text[i+1]) >= 0 {
			i++
		}
	}
	return b.String()
}

// maxLine is how long a line may be that is read alone, in bytes.
const maxLine = 16 << 10

// eachLine yields the lines that name a tool without those around them, and in pieces.
func eachLine(lines []string, names func(string) bool, yield func(string) bool) {
	parts, pieces := new(strings.Builder), make([]strings.Builder, len(wordFronts))
	seen := map[string]bool{}
	for _, line := range lines {
		if len(line) > maxLine || seen[line] || !names(line) {
			continue
		}
		seen[line] = true
		for _, part := range partsOf(line, names) {
			bare := bareLine(strings.TrimSpace(part))
			for _, text := range []string{part, bare} {
				if odd := strings.Count(text, "'")%2+strings.Count(text, `"`)%2 > 0; odd && !yield(text) { // it may be a call only alone
					return
				}
			}
			parts.WriteString(part + "\n\n")
		}
		if !mayBeBroken(line) {
			continue
		}
		for i, front := range wordFronts {
			pieces[i].WriteString(broken(line, front) + "\n\n")
		}
	}
	ok := yield(parts.String())
	for i := 0; ok && i < len(pieces); i++ {
		ok = yield(pieces[i].String())
	}
}

// maxParts is how many places in front of a name a call may begin at.
const maxParts = 5

// partsOf returns what may be a call at the end of a line: from the last place in front of a name
// on, and from the places before it. Some forms are calls only at the start of a line.
func partsOf(line string, names func(string) bool) (parts []string) {
	places := fronts(line)
	n := sort.Search(len(places), func(i int) bool { return !names(line[places[i].end:]) })
	for i := n - 1; i >= 0 && len(parts) < maxParts; i-- {
		if part := line[places[i].end:]; len(parts) == 0 || len(part) > len(parts[len(parts)-1]) {
			parts = append(parts, part)
		}
	}
	return parts
}

// mayBeBroken reports whether a line may be several that have lost the breaks between them.
func mayBeBroken(line string) bool {
	return strings.Contains(line, "{") || strings.Contains(line, "commentary") || strings.Contains(line, "</") || labels().MatchString(line)
}

// broken returns a line with line breaks where it may have lost them: before labels, and in
// place of the words that were in front of the lines.
func broken(line string, front func(word string) bool) string {
	var b strings.Builder
	for _, word := range strings.Fields(line) {
		if front(word) {
			b.WriteByte('\n')
			continue
		}
		if strings.HasPrefix(word, ">>>") || strings.HasPrefix(word, "commentary") {
			b.WriteByte('\n')
		}
		b.WriteString(word + " ")
	}
	return labels().ReplaceAllString(b.String(), "\n$0")
}

// wordFronts are what the words in front of lines may be: signs; numbers with a sign behind
// them, too; all numbers, too.
var wordFronts = []func(word string) bool{
	isSigns,
	func(word string) bool {
		return isSigns(word) || strings.Trim(word[:len(word)-1], "0123456789[(") == "" && strings.ContainsAny(word[len(word)-1:], ":.|)]")
	},
	func(word string) bool { return strings.Trim(word, "0123456789[(:.|)]"+signs) == "" },
}

func isSigns(word string) bool { return strings.Trim(word, signs) == "" }

// labels are those of a name or of arguments, which begin a line.
var labels = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\**(?:\b(?:thought|observation)|\b(?:action|tool|function)(?: (?:input|name|call|arguments))?|\b(?:input|arguments|parameters|params|args|name))(?: \d+)? ?\**:`)
})

// signs may be in front of a line without being a part of it, or after it.
const signs = ">|»›│┃║▌▎▏*#/;%-+!$•·:.~=,&\\"

// undecorated returns lines without numbers and signs at their starts, and signs at their
// ends, whether the lines have the same ones or not.
func undecorated(lines []string) string {
	var out []string
	empty := 0 // lines in sequence without content
	for _, line := range lines {
		if line = strings.TrimSpace(line); line == "" || strings.ContainsFunc(line, isContent) {
			empty = 0
		} else if empty++; empty == 2 { // the number and the time of a text that follows
			out = out[:len(out)-1]
			continue
		}
		out = append(out, bareLine(line))
	}
	return strings.Join(out, "\n")
}

func bareLine(line string) string {
	for {
		n := lineNumber(line)
		rest := strings.TrimPrefix(strings.TrimLeft(line[n:], signs+" \t"), "<!--")
		if rest == line {
			break
		}
		line = rest
	}
	if line != "" && line[0] == '"' && strings.Count(line, `"`)%2 > 0 {
		line = line[1:]
	}
	if item := strings.TrimSuffix(line, ","); len(item) > 1 && (item[0] == '"' || item[0] == '\'') && item[len(item)-1] == item[0] {
		line = item[1 : len(item)-1]
	}
	for _, end := range []string{"-->", "*/", "**", "\\", "│", "┃", "║", "|", "`"} {
		line = strings.TrimRight(strings.TrimSuffix(line, end), " \t")
	}
	return line
}

// isContent reports whether a line with this character is more than numbers and signs.
func isContent(r rune) bool { return unicode.IsLetter(r) || strings.ContainsRune("{}[]()`", r) }

const (
	// maxFront is how long what is in front of a line may be, in bytes, and maxFronts how
	// many places of it are tried.
	maxFront  = 120
	maxFronts = 16
	// maxEnds is how many signs that all lines end with are taken off.
	maxEnds = 4
	// maxApart is how many other lines may be between two lines that have the same in front
	// of them.
	maxApart = 2
)

// runs finds the lines near each other that have the same in front of them.
type runs struct {
	lines []string
	names func(string) bool
	yield func(string) bool
	open  map[shape]*lineRun
	order []shape // of open, so that the readings have an order
	done  bool
}

// A lineRun is lines that have the same in front of them.
type lineRun struct {
	lines []int
	rest  []string // what follows it on each
	apart int      // how many other lines may be between two of them
}

func (f *runs) find() {
	for i, line := range f.lines {
		f.close(i)
		for _, p := range fronts(line) {
			r := f.open[p.shape]
			if r == nil {
				r = &lineRun{apart: p.apart}
				f.open[p.shape], f.order = r, append(f.order, p.shape)
			}
			if n := len(r.lines); n > 0 && r.lines[n-1] == i { // the same, and blanks
				r.rest[n-1] = line[p.end:]
				continue
			}
			r.lines, r.rest = append(r.lines, i), append(r.rest, line[p.end:])
		}
		if f.done {
			return
		}
	}
	f.close(len(f.lines) + maxApart + 1)
}

// close reads the runs that line i is too far from.
func (f *runs) close(i int) {
	kept := f.order[:0]
	for _, s := range f.order {
		r := f.open[s]
		if r.lines[len(r.lines)-1]+r.apart+1 >= i {
			kept = append(kept, s)
			continue
		}
		delete(f.open, s)
		if len(r.lines) > 1 && !f.done {
			f.read(r.rest)
		}
	}
	f.order = kept
}

// read yields the lines of a run, if they name a tool, as they are and without the end that
// they have in common.
func (f *runs) read(lines []string) {
	text := strings.Join(lines, "\n")
	if !f.names(text) {
		return
	}
	if f.done = !f.yield(text); f.done {
		return
	}
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \t\r")
	}
	for _, n := range ends(commonEnd(lines)) {
		if f.done = !f.yield(withoutLast(lines, n)); f.done {
			return
		}
	}
}

// ends returns the lengths of what may be behind lines that have this end in common: a few signs, or
// what begins with one of the first signs, such as tags of HTML.
func ends(end string) (out []int) {
	signs := 0
	for i, r := range end {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && signs < maxEnds {
			out = append(out, len(end)-i)
			signs++
		}
	}
	signs = 0
	for n := 1; n <= len(end) && signs < maxEnds; n++ {
		r, _ := utf8.DecodeRuneInString(end[len(end)-n:])
		if !utf8.RuneStart(end[len(end)-n]) {
			continue
		}
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			break
		}
		signs++
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// withoutLast returns lines without their last n bytes.
func withoutLast(lines []string, n int) string {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(strings.TrimRight(line[:max(0, len(line)-n)], " \t") + "\n")
	}
	return b.String()
}

// commonEnd returns what all lines end with.
func commonEnd(lines []string) string {
	end, any := "", false
	for _, line := range lines {
		switch {
		case line == "":
		case !any:
			end, any = line[max(0, len(line)-maxFront):], true
		default:
			for !strings.HasSuffix(line, end) {
				end = end[1:]
			}
		}
	}
	return end
}

// A front is a place at which what is in front of a line may end.
type front struct {
	shape shape
	end   int
	apart int
}

// A shape is what is in front of a line, where all numbers are equal.
type shape struct {
	sum  uint64
	kind byte
}

// The kinds of shapes: of white space, of these signs and words, of these signs and any
// words.
const (
	blanks = iota
	exact
	loose
)

// fronts returns the places of a line at which what is in front of it may end: behind
// white space, a sign, or a separator and any words, as the names in a chat are.
func fronts(line string) []front {
	indent := len(line) - len(strings.TrimLeft(line, " \t"))
	if indent == len(line) {
		return nil
	}
	out := append(make([]front, 0, maxFronts), front{shape: shape{uint64(indent), blanks}, end: indent})
	var signs, words hash
	var sign rune // the last one that is not blank
	for i := indent; i < len(line) && i < maxFront && len(out) < maxFronts-1; {
		r, size := utf8.DecodeRuneInString(line[i:])
		i += size
		switch {
		case r == ' ' || r == '\t' || r == '\r':
		case r >= '0' && r <= '9':
			signs.once('0')
			words.once('a')
			sign = 0
			continue
		case unicode.IsLetter(r) || r == '_':
			signs.add(r)
			words.once('a')
			sign = 'a'
			continue
		default:
			signs.add(r)
			words.add(r)
			sign = r
		}
		if i < len(line) && (line[i] == ' ' || line[i] == '\t' || line[i] == byte(r) && r != '>') || strings.ContainsRune("<{", sign) {
			continue
		}
		out = append(out, front{shape{signs.sum, exact}, i, maxApart})
		if words.any && strings.ContainsRune(":|>])}→│-", sign) {
			out = append(out, front{shape{words.sum, loose}, i, maxApart})
		}
	}
	return out
}

// A hash is a sum over characters (FNV-1a).
type hash struct {
	sum  uint64
	last rune
	any  bool // it has a letter or a digit
}

func (h *hash) add(r rune) { h.sum, h.last = (h.sum^uint64(r))*1099511628211, r }

// once adds a character unless the last one was the same.
func (h *hash) once(r rune) {
	if h.any = true; h.last != r {
		h.add(r)
	}
}
