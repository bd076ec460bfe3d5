// Package quote finds out whether a call that a model wrote is a quotation.
//
// # The law
//
// A foreign text is one that neither a model wrote nor the person typed: the result of a tool
// or its error, a placeholder, a loaded text, what is attached to a question, the description
// of a tool. A call is a quotation if a foreign text of its conversation holds
//
//   - the text of the call: what was between its first and its last character, or
//   - in any form that the recogniser knows, a call of the same tool with the same
//     argument values, or
//   - the whole code of a script that calls tools.
//
// A quotation does not run. The model is asked once whether it means the call. It
// confirms by an id that it gets with the question, which a text that was written
// before cannot hold. A call that the person typed in the question of the turn is none: they
// ask for it.
//
// The first half does not depend on the form of the call: whatever a model repeats
// word for word, the text of the call in its reply is a part of what it repeats. A
// form that the recogniser learns tomorrow is included. The end of the call does not
// count: a text can hold a call without its end, and a model that repeats it may write
// the end. The second half finds calls that a model repeats in another form. Values
// alone, such as the name of a file in a question, make no quotation.
//
// # What counts as the same text
//
// A model copies what it reads, not its bytes. Compare ignores white space, what is in
// front of quoted lines, characters that are not seen, the escapes of JSON and HTML,
// quotation marks of print, and the lookalikes that Neutralise of package limit writes. A
// call of several lines is also found line by line, whatever is around each line. An argument that is null
// counts as left out.
//
// # Cost
//
// A text is read when the first call asks for it, and once: a turn without calls pays
// nothing. The texts of a list of tools are read once for all turns, and the text of a
// call is looked for only where it has one. The time is linear in the text.
package quote

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/weirhost/weir/agent/parse"
	"github.com/weirhost/weir/sdk/tool"
)

// A Call is a call of a model.
type Call struct {
	Tool string
	Args json.RawMessage
	// Text is what the model wrote; empty for a call of the provider's own calling.
	Text string
}

// Key identifies a call by its tool and the values of its arguments.
func (c Call) Key() string { return c.Tool + "\x00" + Canonical(c.Args) }

// seen returns arguments as the foreign texts are read: what differs is not seen.
func seen(args string) string {
	args = visible(args)
	if isASCII(args) {
		return args
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r >= utf8.RuneSelf && unicode.IsSpace(r):
			return ' '
		case strings.ContainsRune(singleQuotes, r):
			return '\''
		}
		return r
	}, args)
}

// copied is the Key of what two copies of a call have in common: without characters that
// are not seen and without arguments that are null.
func (c Call) copied() string {
	var args map[string]any
	d := json.NewDecoder(strings.NewReader(seen(string(c.Args))))
	d.UseNumber()
	if d.Decode(&args) != nil {
		return c.Key()
	}
	maps.DeleteFunc(args, func(_ string, v any) bool { return v == nil })
	c.Args, _ = json.Marshal(args) // what was decoded encodes
	return c.Key()
}

// Canonical writes arguments with sorted keys and without spaces, which makes two
// spellings of one call equal. What is not JSON stays unchanged.
func Canonical(args json.RawMessage) string {
	var v any
	d := json.NewDecoder(bytes.NewReader(args))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return string(args)
	}
	out, err := json.Marshal(plainNumbers(v))
	if err != nil {
		return string(args)
	}
	return string(out)
}

// plainNumbers returns a value with each number written in one way: 3.0 and 3e0 are 3.
func plainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		const exact = 1 << 53 // whole numbers below it are exact
		if f, err := v.Float64(); err == nil && math.Trunc(f) == f && math.Abs(f) < exact {
			return int64(f)
		} else if err == nil && strings.ContainsAny(string(v), ".eE") {
			return f
		}
	case []any:
		for i := range v {
			v[i] = plainNumbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = plainNumbers(v[k])
		}
	}
	return v
}

// A Book holds the foreign texts of a conversation. The zero value is empty and
// ready. It is used by one goroutine.
type Book struct {
	texts    []string
	keys     map[string]bool // of the calls in the first texts, as many as read says
	read     int
	compared []string // the first texts, as compare writes them
	lines    [][]string
}

// Read returns a book of these texts that is read to its end: it may be used by many
// goroutines, without Add. tools recognises the calls of the declared tools.
func Read(texts []string, tools *parse.Set) *Book {
	b := new(Book)
	for _, text := range texts {
		b.Add(text)
	}
	b.readCalls(tools)
	b.compare()
	for _, text := range b.texts {
		b.lines = append(b.lines, lines(text))
	}
	return b
}

// Add adds a foreign text.
func (b *Book) Add(text string) {
	if strings.TrimSpace(text) != "" {
		b.texts = append(b.texts, text)
	}
}

// Holds reports whether c is in one of the texts. tools recognises the calls of
// the declared tools.
func (b *Book) Holds(c Call, tools *parse.Set) bool {
	if b.readCalls(tools); len(b.keys) > 0 && b.keys[c.copied()] {
		return true
	}
	if code := scriptOf(c); code != "" {
		b.compare()
		if slices.ContainsFunc(b.compared, func(t string) bool { return strings.Contains(t, code) }) {
			return true
		}
	}
	if c.Text == "" {
		return false
	}
	text, name := withoutEnd(compare(c.Text)), fold(c.Tool)
	if text == "" {
		return false
	}
	b.compare()
	return slices.ContainsFunc(b.compared, func(t string) bool { return holdsText(t, text, name) }) || b.holdsLines(c)
}

// holdsLines reports whether a text holds the call line by line.
func (b *Book) holdsLines(c Call) bool {
	call := lines(c.Text)
	for len(call) > 0 && withoutEnd("x"+call[len(call)-1]) == "x" { // a text need not hold the end
		call = call[:len(call)-1]
	}
	if len(call) < 2 || !strings.Contains(fold(strings.Join(call, "")), fold(c.Tool)) {
		return false
	}
	for _, text := range b.texts[len(b.lines):] {
		b.lines = append(b.lines, lines(text))
	}
	return slices.ContainsFunc(b.lines, func(t []string) bool { return holdsLines(t, call) })
}

// scriptOf returns the code of a call of run_script as it is compared; empty: the call is
// of another tool, or its code calls no tools.
func scriptOf(c Call) string {
	var args struct{ Code string }
	if c.Tool != tool.RunScript || json.Unmarshal(c.Args, &args) != nil || !strings.Contains(args.Code, "tools") {
		return ""
	}
	return compare(args.Code)
}

// readCalls reads the calls in the texts that were added since the last time.
func (b *Book) readCalls(tools *parse.Set) {
	for ; b.read < len(b.texts); b.read++ {
		for _, variant := range plain(b.texts[b.read]) {
			for _, c := range tools.Mentions(variant) {
				if b.keys == nil {
					b.keys = map[string]bool{}
				}
				b.keys[Call{Tool: c.Name, Args: c.Args}.copied()] = true
				if c.Name != tool.CallTool {
					continue
				}
				if inner, ok := (tool.Call{Args: c.Args}).Target(); ok { // the call that it asks for
					b.keys[Call{Tool: inner.Tool, Args: inner.Args}.copied()] = true
				}
			}
		}
	}
}

// compare writes the texts that were added since the last time for the comparison.
func (b *Book) compare() {
	for _, text := range b.texts[len(b.compared):] {
		b.compared = append(b.compared, compare(text))
	}
}

const (
	// nameReach is how far before the arguments of a call its name may be, in bytes.
	nameReach = 256
	// maxPlaces bounds the places that are looked at for a name. A text with more of
	// them holds the call.
	maxPlaces = 1000
)

// holdsText reports whether foreign holds the text of a call of the named tool. In
// some forms the name is before the text of the call and not in it.
func holdsText(foreign, text, name string) bool {
	if strings.Contains(fold(text), name) {
		return strings.Contains(foreign, text)
	}
	at := 0
	for range maxPlaces {
		i := strings.Index(foreign[at:], text)
		if i < 0 {
			return false
		}
		if strings.Contains(fold(foreign[max(0, at+i-nameReach):at+i]), name) {
			return true
		}
		at += i + 1
	}
	return true
}
