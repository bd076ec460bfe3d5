package quote

import (
	"iter"
	"regexp"
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
		if len(lines) > 1 {
			if bare := undecorated(lines); bare != text && !yield(bare) {
				return
			}
			f := runs{lines: lines, names: names, yield: yield, open: map[shape]*lineRun{}}
			if f.find(); f.done {
				return
			}
		}
		eachLine(lines, names, yield)
	}
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
			bare := strings.TrimSpace(undecorated([]string{part}))
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

// partsOf returns what may be a call at the end of a line: from the last place in front of a name
// on, and from the places before it. Some forms are calls only at the start of a line.
func partsOf(line string, names func(string) bool) (parts []string) {
	const most = 3
	places := fronts(line)
	n := sort.Search(len(places), func(i int) bool { return !names(line[places[i].end:]) })
	for i := n - 1; i >= 0 && len(parts) < most; i-- {
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
	var b strings.Builder
	for _, line := range lines {
		line = strings.TrimSpace(line)
		for {
			n := lineNumber(line)
			rest := strings.TrimLeft(line[n:], signs+" \t")
			rest = strings.TrimPrefix(rest, "<!--")
			if rest == line {
				break
			}
			line = rest
		}
		if item := strings.TrimSuffix(line, ","); len(item) > 1 && (item[0] == '"' || item[0] == '\'') && item[len(item)-1] == item[0] {
			line = item[1 : len(item)-1]
		}
		for _, end := range []string{"-->", "*/", "**", "\\", "│", "┃", "║", "|", "`", " "} {
			line = strings.TrimSuffix(strings.TrimRight(line, " \t"), end)
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

const (
	// maxFront is how long what is in front of a line may be, in bytes, and maxFronts how
	// many places of it are tried.
	maxFront  = 120
	maxFronts = 16
	// maxLines is how many lines a call may have in front of the name of its tool, and behind it.
	maxLines = 60
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
	if lines = f.near(lines); len(lines) < 2 {
		return
	}
	text := strings.Join(lines, "\n")
	if f.done = !f.yield(text); f.done {
		return
	}
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \t\r")
	}
	end := commonEnd(lines)
	if strings.HasSuffix(end, ">") && strings.HasPrefix(end, "</") {
		f.done = !f.yield(withoutLast(lines, len(end)))
		return
	}
	for n, signs := 1, 0; n <= len(end) && signs < maxEnds && !f.done; n++ {
		if utf8.RuneStart(end[len(end)-n]) {
			f.done = !f.yield(withoutLast(lines, n))
			signs++
		}
	}
}

// near returns the lines that are not far from one that names a tool.
func (f *runs) near(lines []string) (out []string) {
	next := 0 // the first one that is not in out
	for i, line := range lines {
		if !f.names(line) {
			continue
		}
		to := min(len(lines), i+maxLines)
		if from := max(next, i-maxLines); from < to {
			out = append(out, lines[from:to]...)
		}
		next = to
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

// commonEnd returns the signs that all lines end with, or the tags of HTML.
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
	if at := endTags().FindStringIndex(end); at != nil {
		return end[at[0]:]
	}
	return end[len(strings.TrimRightFunc(end, func(r rune) bool {
		return r != utf8.RuneError && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})):]
}

var endTags = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?:</\w+>)+$`) })

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
	lettered := false
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
			sign, lettered = 'a', true
			continue
		default:
			signs.add(r)
			words.add(r)
			sign = r
		}
		if i < len(line) && (line[i] == ' ' || line[i] == '\t') || strings.ContainsRune("<{[(=", sign) || strings.ContainsRune("\"'", sign) && lettered {
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
