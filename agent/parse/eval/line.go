// Package eval measures package parse on texts with known calls. It reads and
// writes lines of JSON, so that other programs can compare what they recognise.
package eval

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/weirhost/weir/agent/parse"
	"github.com/weirhost/weir/sdk/tool"
)

// A Case is one text with the tools that were declared to the model.
type Case struct {
	ID string `json:"id"`
	// Tools are the declared tools; null or empty: any name is declared.
	Tools []Tool `json:"tools"`
	Text  string `json:"text"`
}

// A Tool is a declared tool as the model APIs describe it.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// UnmarshalJSON also reads the form {"type":"function","function":{…}}.
func (t *Tool) UnmarshalJSON(b []byte) error {
	type plain Tool
	var v struct {
		plain
		Function    *plain          `json:"function"`
		InputSchema json.RawMessage `json:"input_schema"`
	}
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	*t = Tool(v.plain)
	if v.Function != nil {
		*t = Tool(*v.Function)
	}
	if t.Parameters == nil {
		t.Parameters = v.InputSchema
	}
	return nil
}

// Options returns the parser's options for the case.
func (c Case) Options() parse.Options {
	o := parse.Options{AnyName: len(c.Tools) == 0}
	for _, t := range c.Tools {
		o.Tools = append(o.Tools, tool.Spec{Name: t.Name, Description: t.Description, Params: t.Parameters})
	}
	return o
}

// A Result is what was recognised in a Case.
type Result struct {
	ID    string `json:"id"`
	Calls []Call `json:"calls"`
	// Text is what remains for the person to read.
	Text      string      `json:"text"`
	Malformed []Malformed `json:"malformed"`
}

// A Call is a recognised call.
type Call struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// Malformed is a call that could not be read.
type Malformed struct {
	Reason string `json:"reason"`
	Name   string `json:"name,omitempty"`
	Raw    string `json:"raw"`
	Detail string `json:"detail,omitempty"`
}

// NewResult sorts events into a Result.
func NewResult(id string, events []parse.Event) Result {
	r := Result{ID: id, Calls: []Call{}, Malformed: []Malformed{}}
	for _, e := range events {
		switch e := e.(type) {
		case parse.Text:
			r.Text += e.Text
		case parse.Call:
			r.Calls = append(r.Calls, Call{e.Name, e.Args})
		case parse.Malformed:
			r.Malformed = append(r.Malformed, Malformed{string(e.Reason), e.Name, e.Raw, e.Detail})
		}
	}
	return r
}

// Line reads one Case and returns its Result, each as one line of JSON without
// its newline. An error says what is wrong with the line.
func Line(in []byte) ([]byte, error) {
	var c Case
	if err := json.Unmarshal(in, &c); err != nil {
		return nil, fmt.Errorf("the line is not a case {\"id\",\"tools\",\"text\"}: %w", err)
	}
	return marshal(NewResult(c.ID, parse.All(c.Options(), c.Text)))
}

// maxLine bounds one line of input, in bytes.
const maxLine = 64 << 20

// Lines reads cases from r, one a line, and writes their results to w in the
// same order. Empty lines are skipped. It stops at the first line that is no
// case and names it.
func Lines(r io.Reader, w io.Writer) error {
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxLine)
	out := bufio.NewWriter(w)
	for n := 1; in.Scan(); n++ {
		if len(bytes.TrimSpace(in.Bytes())) == 0 {
			continue
		}
		line, err := Line(in.Bytes())
		if err != nil {
			return errors.Join(fmt.Errorf("line %d: %w", n, err), out.Flush())
		}
		out.Write(line)
		out.WriteByte('\n')
	}
	return errors.Join(in.Err(), out.Flush())
}

func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}
