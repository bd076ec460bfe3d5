package msg

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"

	"github.com/weirhost/weir/sdk/tool"
)

// A Wire is a tool.Text on its way to another process or a file, as JSON. Its arguments
// are already rendered, each by its own verb of the English format, so the reader can
// show it in any language. A Wire without a Format is an argument: a Word.
type Wire struct {
	Format string `json:",omitempty"`
	Args   []Wire `json:",omitempty"`
	Word   string `json:",omitempty"`
}

// maxDepth bounds how deep the texts of a Wire are nested.
const maxDepth = 32

// ErrWire says that a Wire is no valid Text.
var ErrWire = errors.New("a text that is not valid")

// verb matches one verb of a format; formats of this repository have no indexes.
var verb = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`%[-+# 0]*\d*(?:\.\d+)?[a-zA-Z%]`) })

// verbsOf returns the verbs of a format, without the plain %%.
func verbsOf(format string) []string {
	var verbs []string
	for _, v := range verb().FindAllString(format, -1) {
		if !strings.HasSuffix(v, "%") {
			verbs = append(verbs, v)
		}
	}
	return verbs
}

// ToWire returns the Wire of a Text.
func ToWire(t tool.Text) Wire {
	verbs := verbsOf(t.Format)
	if len(verbs) != len(t.Args) { // no arguments, or a format with more than its verbs
		return Wire{Format: t.String()}
	}
	w := Wire{Format: t.Format}
	for i, a := range t.Args {
		switch a := a.(type) {
		case tool.Text:
			w.Args = append(w.Args, ToWire(a))
		case error:
			w.Args = append(w.Args, ToWire(Of(a)))
		default:
			w.Args = append(w.Args, Wire{Word: fmt.Sprintf(verbs[i], a)})
		}
	}
	return w
}

// Text returns the Text. The Wire may be from an untrusted process: clean makes each of
// its strings safe to show. The length of the Text is at most that of the strings,
// because each argument is shown once. The error is ErrWire.
func (w Wire) Text(clean func(string) string) (tool.Text, error) { return w.text(clean, maxDepth) }

func (w Wire) text(clean func(string) string, depth int) (tool.Text, error) {
	t := tool.Text{Format: clean(w.Format)}
	if len(w.Args) == 0 {
		return t, nil
	}
	if depth == 0 || len(verbsOf(t.Format)) != len(w.Args) || strings.ContainsAny(t.Format, "[*") {
		return tool.Text{}, ErrWire
	}
	for _, a := range w.Args {
		if a.Format == "" {
			t.Args = append(t.Args, rendered(clean(a.Word)))
			continue
		}
		inner, err := a.text(clean, depth-1)
		if err != nil {
			return tool.Text{}, err
		}
		t.Args = append(t.Args, inner)
	}
	return t, nil
}

// rendered is an argument that is already rendered; every verb prints it as it is.
type rendered string

// Format implements fmt.Formatter.
func (r rendered) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, string(r)) }
