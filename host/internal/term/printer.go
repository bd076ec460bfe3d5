package term

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/tool"
)

// A Printer writes to the streams of an Env. Formats are English, and are the keys
// of their translations in package msg; errors and tool.Texts among the arguments
// are shown in the same language.
type Printer struct {
	Env
	// JSON makes a command print one JSON value on standard output.
	JSON bool
	// Events makes a command print each event of a turn as a line of JSON. JSON is
	// then true.
	Events bool
	// Language returns the language of the reader. Nil: English.
	Language func() tool.Locale
}

// Locale returns the language of the reader.
func (p *Printer) Locale() tool.Locale {
	if p.Language == nil {
		return tool.En
	}
	return p.Language()
}

// Outf writes a sentence to standard output.
func (p *Printer) Outf(format string, args ...any) {
	_, _ = io.WriteString(p.Out, p.Sprintf(format, args...))
}

// Errf writes a sentence to standard error.
func (p *Printer) Errf(format string, args ...any) {
	_, _ = io.WriteString(p.Err, p.Sprintf(format, args...))
}

// Sprintf returns a sentence in the language of the reader.
func (p *Printer) Sprintf(format string, args ...any) string {
	return p.Text(tool.Textf(format, args...))
}

// Text returns t in the language of the reader.
func (p *Printer) Text(t tool.Text) string {
	return msg.In(p.Locale(), t)
}

// Label returns a word in the language of the reader, filled up to a width in
// columns of the terminal.
func (p *Printer) Label(word string, width int) string {
	s := msg.Format(p.Locale(), word)
	return s + strings.Repeat(" ", max(0, width-ansi.StringWidth(s)))
}

// Print writes v as indented JSON to standard output.
func (p *Printer) Print(v any) {
	enc := json.NewEncoder(p.Texts())
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	_ = enc.Encode(v) // standard output is closed: there is no other place to report it
}

// AsJSON prints v if JSON is set, and reports whether it did.
func (p *Printer) AsJSON(v any) bool {
	if p.JSON {
		p.Print(v)
	}
	return p.JSON
}

// PrintEvent writes one event as a line of JSON to standard output.
func (p *Printer) PrintEvent(name string, data json.RawMessage) {
	b, err := json.Marshal(struct {
		Event string          `json:"event"`
		Data  json.RawMessage `json:"data"`
	}{name, data})
	if err == nil { // data is JSON
		_, _ = p.Out.Write(append(b, '\n')) // as in Print
	}
}

// A Getter answers a GET request of the API with a JSON value.
type Getter interface {
	Get(ctx context.Context, path string, into any) error
}

// Show reads a route of the API. With JSON it prints the answer as it is and
// reports done; else it decodes the answer into into.
func (p *Printer) Show(ctx context.Context, from Getter, path string, into any) (done bool, err error) {
	if !p.JSON {
		return false, from.Get(ctx, path, into)
	}
	var raw json.RawMessage
	if err := from.Get(ctx, path, &raw); err != nil {
		return true, err
	}
	p.Print(raw)
	return true, nil
}

// Interactive reports whether a person at a terminal can be asked.
func (p *Printer) Interactive() bool {
	return !p.JSON && IsTerminal(p.In) && IsTerminal(p.Err)
}

// Table writes a header and rows to standard output. Cells end with a tab; the
// columns have the widths that a terminal shows, where a Chinese character has two.
// The header is in the language of the reader. Cells may hold texts of others: they pass
// Reveal.
func (p *Printer) Table(header string, rows func(w io.Writer)) {
	var b strings.Builder
	rows(&b)
	lines := [][]string{strings.Split(msg.Format(p.Locale(), header), "\t")}
	for line := range strings.Lines(Reveal(b.String())) {
		lines = append(lines, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
	}
	var widths []int
	for _, cells := range lines {
		for i, cell := range cells {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], ansi.StringWidth(cell))
		}
	}
	for _, cells := range lines {
		for i, cell := range cells {
			if i < len(cells)-1 {
				cell += strings.Repeat(" ", widths[i]+2-ansi.StringWidth(cell))
			}
			fmt.Fprint(p.Out, cell)
		}
		fmt.Fprintln(p.Out)
	}
}
