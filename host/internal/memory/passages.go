package memory

import (
	"strings"
	"unicode/utf8"

	"github.com/weirhost/weir/host/archive"
)

const (
	// passageChars is about how long a passage is, maxPassages how many a result has:
	// those of a very long one are longer.
	passageChars = 1500
	maxPassages  = 32
	// maxText bounds the beginning of a passage that is embedded: models read no more.
	maxText = 2000 // characters
)

// A passage is some lines of a result and the text that is embedded for them.
type passage struct {
	first, last int
	text        string
}

// passages splits a result at its line ends. The call belongs to the first passage.
func passages(e archive.Entry) []passage {
	size := max(passageChars, e.Chars/maxPassages+1)
	var out []passage
	var b strings.Builder
	b.WriteString(e.Tool + " " + e.Query + "\n")
	first, line, chars := 1, 0, 0
	flush := func() {
		if text := strings.TrimSpace(b.String()); text != "" && line >= first {
			out = append(out, passage{first, line, clip(text)})
		}
		b.Reset()
		first, chars = line+1, 0
	}
	for l := range strings.Lines(e.Full) {
		line++
		b.WriteString(l)
		if chars += utf8.RuneCountInString(l); chars >= size {
			flush()
		}
	}
	flush()
	return out
}

// clip returns the beginning of a text.
func clip(s string) string {
	n := 0
	for i := range s {
		if n++; n > maxText {
			return s[:i]
		}
	}
	return s
}
