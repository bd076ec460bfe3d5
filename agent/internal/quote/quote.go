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
// before cannot hold. None is a call that the person typed in the question of the turn, or asks
// for there (asks.go), and one that the model had made before a text held it.
//
// The first half does not depend on the form of the call: whatever a model repeats
// word for word, the text of the call in its reply is a part of what it repeats. A
// form that the recogniser learns tomorrow is included. The end of the call does not
// count: a text can hold a call without its end, and a model that repeats it may write
// the end. The second half finds calls that a model repeats in another form. It compares
// digests (digest.go), which stay when the text is gone. Values
// alone, such as the name of a file in a question, make no quotation.
//
// # What counts as the same
//
// A model copies what it reads, not its bytes. The comparison of texts (compare.go) ignores white
// space, what is in front of quoted lines, characters that are not seen, the escapes of JSON and HTML,
// quotation marks of print, and the lookalikes that Neutralise of package limit writes. A
// call of several lines is also found line by line, whatever is around each line.
//
// For the comparison of calls a text is read as it is, and as it would be without what may be
// around its lines (undress.go). A digest ignores white space, spellings of numbers, the order of
// keys, and arguments that are null or the default.
//
// # Cost
//
// A text is compared when the first call asks for it: a turn without calls pays nothing for that.
// The calls in a text are read once in a conversation, and in more than one way only near
// the name of a tool in a place where a call may have it. The texts of a list of tools are read once
// for all turns. The time is linear in the text.
package quote

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"

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

// A Book holds foreign texts and the calls in them. The zero value is empty and ready. It
// is used by one goroutine.
type Book struct {
	texts  Texts
	calls  Calls
	unread []string // not in calls yet
}

// Read returns a book of these texts that is read to its end: it may be used by many
// goroutines, without Add.
func Read(texts []string, tools *Tools) *Book {
	b := new(Book)
	for _, text := range texts {
		b.Add(text)
	}
	b.readCalls(tools)
	b.texts.readAll()
	return b
}

// Add adds a foreign text.
func (b *Book) Add(text string) {
	b.texts.Add(text, 0)
	b.unread = append(b.unread, text)
}

// Holds reports whether c is in one of the texts.
func (b *Book) Holds(c Call, tools *Tools) bool {
	b.readCalls(tools)
	return b.calls.Holds(c, tools) || b.texts.Hold(c, 1)
}

func (b *Book) readCalls(tools *Tools) {
	if len(b.unread) > 0 {
		b.calls.Read(b.unread, tools, nil)
		b.unread = nil
	}
}

// Texts are foreign texts, in which the text of a call is looked for. The zero value is
// empty and ready. It is used by one goroutine.
type Texts struct{ all []heldText }

type heldText struct {
	text     string
	at       int // the place of its message
	compared string
	lines    []string
	isRead   bool // compared and lines are set
}

// Add adds a foreign text of the message at a place of the conversation.
func (t *Texts) Add(text string, at int) {
	if strings.TrimSpace(text) != "" {
		t.all = append(t.all, heldText{text: text, at: at})
	}
}

// Hold reports whether a text of a message in front of end holds what the model wrote for
// c, or the code of a script.
func (t *Texts) Hold(c Call, end int) bool {
	code, text, name := scriptOf(c), withoutEnd(compare(c.Text)), fold(c.Tool)
	call := linesOf(c)
	if code == "" && text == "" {
		return false
	}
	for i := range t.all {
		f := &t.all[i]
		if f.at >= end {
			continue
		}
		f.read()
		if code != "" && strings.Contains(f.compared, code) || text != "" && holdsText(f.compared, text, name) || call != nil && holdsLines(f.lines, call) {
			return true
		}
	}
	return false
}

func (t *Texts) readAll() {
	for i := range t.all {
		t.all[i].read()
	}
}

func (f *heldText) read() {
	if !f.isRead {
		f.compared, f.lines, f.isRead = compare(f.text), lines(f.text), true
	}
}

// linesOf returns the lines of a call, as they are compared; nil: it has only one.
func linesOf(c Call) []string {
	call := lines(c.Text)
	for len(call) > 0 && withoutEnd("x"+call[len(call)-1]) == "x" { // a text need not hold the end
		call = call[:len(call)-1]
	}
	if len(call) < 2 || !strings.Contains(fold(strings.Join(call, "")), fold(c.Tool)) {
		return nil
	}
	return call
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
