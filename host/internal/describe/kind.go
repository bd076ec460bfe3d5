package describe

import (
	"strings"
	"unicode"

	"github.com/weirhost/weir/host/internal/jsonscan"
)

// A kind is the form of a text. It decides how the text is summarised.
type kind int

const (
	prose kind = iota
	jsonText
	matches // file:line:text, as searches print
	logText
	table
	code
	markdown
)

// The bounds of the sample that decides the kind. They are small, because every put
// pays for it.
const (
	sampleLines = 40
	sampleBytes = 16 << 10
	lineBytes   = 200
)

// kindOf returns the kind of a text by its beginning, and for JSON by its brackets.
func kindOf(text string) kind {
	if jsonscan.Looks(text) {
		return jsonText
	}
	lines := sample(text)
	if len(lines) == 0 {
		return prose
	}
	share := func(is func(string) bool) float64 {
		n := 0
		for _, line := range lines {
			if is(line) {
				n++
			}
		}
		return float64(n) / float64(len(lines))
	}
	switch {
	case share(isMatch) > 0.5:
		return matches
	case share(isLog) > 0.3:
		return logText
	case delimiter(lines) != 0:
		return table
	case share(isHeading) > 0 && share(isCode) < 0.2 && share(isDefinition) == 0:
		return markdown
	case share(isDefinition) > 0 && share(isCode) > 0.2:
		return code
	}
	return prose
}

// sample returns the first lines that are not blank, without line numbers.
func sample(text string) []string {
	if len(text) > sampleBytes {
		text = text[:sampleBytes]
	}
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\r\n \t"); line != "" {
			line = bare(line)
			lines = append(lines, line[:min(len(line), lineBytes)])
		}
		if len(lines) == sampleLines {
			break
		}
	}
	return lines
}

// bare returns a line without its line number: digits followed by a tab, an arrow or a
// bar, as tools that read files write it.
func bare(line string) string {
	rest := strings.TrimLeft(line, " ")
	rest = strings.TrimLeft(rest, "0123456789")
	if len(rest) == len(strings.TrimLeft(line, " ")) {
		return line
	}
	for _, mark := range []string{"\t", "→", "│", " | "} {
		if after, ok := strings.CutPrefix(rest, mark); ok {
			return after
		}
	}
	return line
}

func isMatch(line string) bool { return line == "--" || fileAt(line) != "" }

// fileAt returns the file of a line that begins with path/file.go:12: or
// path/file.go-12-, as searches print matches and context. Other lines return "".
func fileAt(line string) string {
	dot := false
	for i := 0; i < len(line) && i < lineBytes; i++ {
		switch line[i] {
		case ' ', '\t', '"', '\'', '<', '>', '|', '*', '?', '(':
			return ""
		case '.':
			dot = true
		case ':', '-':
			if dot && hasExtension(line[:i]) && numberBefore(line[i+1:], ":-") {
				return line[:i]
			}
			if line[i] == ':' {
				return ""
			}
		}
	}
	return ""
}

// numberBefore reports whether s begins with digits and then one of marks.
func numberBefore(s, marks string) bool {
	rest := strings.TrimLeft(s, "0123456789")
	return len(rest) < len(s) && rest != "" && strings.IndexByte(marks, rest[0]) >= 0
}

// hasExtension reports whether a path ends with a dot and up to eight letters
// and digits, the first a letter.
func hasExtension(path string) bool {
	dot := strings.LastIndexByte(path, '.')
	ext := path[dot+1:]
	if dot < 1 || path[dot-1] == '/' || ext == "" || len(ext) > 8 || ext[0] < 'A' {
		return false
	}
	return strings.IndexFunc(ext, func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) }) < 0
}

// logStarts are the beginnings of log lines. 0 means any digit.
var logStarts = []string{
	"0000-00-00", "0000/00/00", "00:00:00", "I0000 ", "E0000 ", "W0000 ",
	"=== RUN", "--- PASS", "--- FAIL", "--- SKIP", "ok  \t", "FAIL\t", "PASSED ", "FAILED ",
}

// isLog reports whether a line begins with a time, a level or a test's verdict.
func isLog(line string) bool {
	t := strings.TrimLeft(line, " \t[")
	for _, start := range logStarts {
		if isLike(t, start) {
			return true
		}
	}
	if len(t) > 7 && isLike(t[3:], " 00 00:00") || len(t) > 7 && isLike(t[3:], "  0 00:00") {
		return true // Jan 02 03:04
	}
	if level, n := levelAt(t); level >= 0 && t[0] < 'a' && (len(t) == n || !letter(t[n])) {
		return true
	}
	return strings.Contains(line, "level=")
}

// isLike reports whether s begins with pattern, in which 0 is any digit.
func isLike(s, pattern string) bool {
	if len(s) < len(pattern) {
		return false
	}
	for i := range len(pattern) {
		if p := pattern[i]; s[i] != p && (p != '0' || s[i] < '0' || s[i] > '9') {
			return false
		}
	}
	return true
}

// levels are the words with which logs mark lines, the worst first.
var levels = []string{"PANIC", "FATAL", "CRITICAL", "ERROR", "FAIL", "WARN", "INFO", "DEBUG", "TRACE"}

// levelAt returns the index of the level with which s begins, in upper or lower case,
// and the length of the word with its usual endings. -1: none.
func levelAt(s string) (level, length int) {
	for i, name := range levels {
		if len(s) >= len(name) && s[0]|0x20 == name[0]|0x20 && strings.EqualFold(s[:len(name)], name) {
			n := len(name)
			for _, ending := range []string{"ING", "ED"} { // WARNING, FAILED
				if len(s) >= n+len(ending) && strings.EqualFold(s[n:n+len(ending)], ending) {
					n += len(ending)
				}
			}
			return i, n
		}
	}
	return -1, 0
}

func letter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }

func isHeading(line string) bool {
	rest := strings.TrimLeft(line, "#")
	level := len(line) - len(rest)
	return level >= 1 && level <= 6 && strings.HasPrefix(rest, " ") && len(rest) > 1
}

// isCode reports whether a line ends or begins as lines of programs do.
func isCode(line string) bool {
	t := strings.TrimSpace(line)
	if t == "" {
		return false
	}
	switch t[len(t)-1] {
	case '{', '}', ';', ')', '(':
		return true
	case ':':
		return isDefinition(line) || strings.HasPrefix(t, "if ") || strings.HasPrefix(t, "for ") || t == "else:" || t == "try:"
	}
	return strings.HasPrefix(t, "return ") || strings.HasPrefix(t, "import ") || strings.HasPrefix(t, "//") || strings.Contains(t, " = ") || strings.Contains(t, " := ")
}

// definitionWords begin the lines that name what a file defines.
var definitionWords = []string{
	"func ", "type ", "package ", "def ", "async def ", "class ", "fn ", "pub ", "struct ", "impl ", "trait ", "enum ",
	"mod ", "interface ", "export ", "function ", "async function ", "public ", "private ", "protected ", "static ", "namespace ", "#include ", "module ",
}

// isDefinition reports whether a line is a definition. It needs a sign of code beside
// the word, because lines of prose also begin with "type" or "class".
func isDefinition(line string) bool {
	t := strings.TrimSpace(line)
	for _, word := range definitionWords {
		if rest, ok := strings.CutPrefix(t, word); ok {
			return word == "package " && !strings.Contains(rest, " ") || strings.ContainsAny(rest, "({<:;=") || strings.HasSuffix(t, "struct") || strings.HasPrefix(word, "#")
		}
	}
	return false
}

// delimiter returns the character that splits every line of a table into the same
// number of fields, at least two. 0: there is none.
func delimiter(lines []string) rune {
	if len(lines) < 3 {
		return 0
	}
	for _, d := range "\t|,;" {
		want := strings.Count(lines[0], string(d))
		if want == 0 || d == ',' && want < 2 {
			continue
		}
		agree := 0
		for _, line := range lines {
			if strings.Count(line, string(d)) == want {
				agree++
			}
		}
		if agree*10 >= len(lines)*9 {
			return d
		}
	}
	return 0
}

// isRule reports whether a line consists of a drawn line.
func isRule(line string) bool {
	return strings.TrimFunc(line, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune("|-:+=_*━─═", r)
	}) == ""
}
