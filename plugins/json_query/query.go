package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/itchyny/gojq"

	"github.com/weirhost/weir/sdk/guest"
	"github.com/weirhost/weir/sdk/guest/files"
	"github.com/weirhost/weir/sdk/tool"
)

const (
	defaultLimit = 1000
	maxInput     = 16 << 20 // bytes of a file; decoded it takes several times as much
	maxText      = 4 << 20  // bytes of results
)

type args struct {
	Filter   string `json:"filter"`
	FilePath string `json:"file_path"`
	JSON     string `json:"json"`
	Offset   int    `json:"offset"`
	Limit    int    `json:"limit"` // 0: 1,000
}

// query runs the filter on every value of the input, as jq does.
func query(c *guest.Call, in args) (guest.Result, error) {
	if in.Limit <= 0 {
		in.Limit = defaultLimit
	}
	code, err := compile(in.Filter)
	if err != nil {
		return guest.Result{}, err
	}
	text, sources, err := in.input(c)
	if err != nil {
		return guest.Result{}, err
	}
	values := &values{decoder: json.NewDecoder(strings.NewReader(text)), text: text, where: in.name()}
	values.decoder.UseNumber()
	run, err := gojq.Compile(code, gojq.WithInputIter(values), gojq.WithEnvironLoader(func() []string { return nil }))
	if err != nil {
		return guest.Result{}, guest.Errorf(tool.BadArgs, "Correct the filter.", "The filter cannot be used: %s.", strings.TrimSuffix(err.Error(), "."))
	}
	w := &results{in: in}
	if err := w.collect(run, values); err != nil {
		return guest.Result{}, err
	}
	r, err := w.result()
	r.Sources = sources
	return r, err
}

// compile reads the filter; the error points at where it breaks.
func compile(filter string) (*gojq.Query, error) {
	q, err := gojq.Parse(filter)
	if err == nil {
		return q, nil
	}
	bad, ok := errors.AsType[*gojq.ParseError](err)
	if !ok {
		return nil, guest.Errorf(tool.BadArgs, "Correct the filter.", "The filter cannot be read: %v.", err)
	}
	at := max(bad.Offset-len(bad.Token), 0)
	what := fmt.Sprintf("at %q", bad.Token)
	if bad.Token == "" {
		what = "at its end"
	}
	return nil, guest.Errorf(tool.BadArgs, "Correct the filter there; write strings in double quotes, fields begin with a dot.",
		"The filter cannot be read %s, character %d: %s", what, len([]rune(filter[:min(at, len(filter))]))+1, filter)
}

func (in args) name() string {
	if in.FilePath != "" {
		return in.FilePath
	}
	return "the JSON text"
}

// input is the text to query and where it comes from.
func (in args) input(c *guest.Call) (string, []tool.Source, error) {
	switch {
	case in.FilePath != "" && in.JSON != "":
		return "", nil, guest.Errorf(tool.BadArgs, "Leave one of them out.", "Both \"file_path\" and \"json\" are given.")
	case in.FilePath == "" && in.JSON == "":
		return "", nil, guest.Errorf(tool.BadArgs, "Give \"file_path\" or \"json\".", "There is nothing to query.")
	case in.JSON != "":
		return in.JSON, nil, nil
	}
	tree := files.In(c, files.Workspace)
	name, info, err := tree.File(in.FilePath)
	if err != nil {
		return "", nil, err
	}
	if info.Size() > maxInput {
		return "", nil, guest.Errorf(tool.TooLarge, "Find the part that matters with grep_search, or ask for a smaller file.",
			"%q has %s bytes; at most %s can be queried.", name, guest.Grouped(int(info.Size())), guest.Grouped(maxInput))
	}
	f, err := tree.FS.Open(name)
	if err != nil {
		return "", nil, guest.Errorf(tool.Failed, "Go on without it.", "%q cannot be opened.", name)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxInput+1))
	if err != nil {
		return "", nil, guest.Errorf(tool.Failed, "Try again, or go on without it.", "%q cannot be read to its end.", name)
	}
	return string(files.Text(b)), []tool.Source{{Title: name, URL: name}}, nil
}

// values hands out the values of the input, one after the other: to the filter
// itself where it asks for inputs, and else to the loop around it.
type values struct {
	decoder *json.Decoder
	text    string
	where   string
	n       int
	failed  bool
}

// Next implements gojq.Iter. An error is a value there too.
func (v *values) Next() (any, bool) {
	if v.failed {
		return nil, false
	}
	var value any
	err := v.decoder.Decode(&value)
	if err == io.EOF {
		return nil, false
	}
	if err != nil {
		v.failed = true
		return v.broken(err), true
	}
	v.n++
	return value, true
}

// broken says where the input is no JSON.
func (v *values) broken(err error) error {
	at := int(v.decoder.InputOffset())
	if bad, ok := errors.AsType[*json.SyntaxError](err); ok {
		at = int(bad.Offset)
	}
	before := v.text[:min(max(at, 0), len(v.text))]
	line := strings.Count(before, "\n") + 1
	hint := "Read the file to see what it holds; only JSON and JSON Lines can be queried."
	if v.n > 0 {
		hint = fmt.Sprintf("The first %d values can be read; fix the rest.", v.n)
	}
	why := strings.TrimPrefix(err.Error(), "json: ")
	if errors.Is(err, io.ErrUnexpectedEOF) {
		why = "it ends in the middle of a value"
	}
	return guest.Errorf(tool.Failed, hint, "Line %d of %s is no JSON: %s.", line, v.where, why)
}

// results collects what the filter gives.
type results struct {
	in    args
	text  strings.Builder
	seen  int // results so far, those that were passed over too
	shown int
	early bool // there is more that was not asked for
}

// collect runs the filter on each value, or once on nothing when the filter
// reads the inputs itself: in jq that asks for -n, and models write it without.
func (w *results) collect(run *gojq.Code, in *values) error {
	if usesInputs(w.in.Filter) {
		_, err := w.run(run, nil, in)
		return err
	}
	for {
		value, ok := in.Next()
		if !ok {
			if in.n == 0 && !in.failed {
				return guest.Errorf(tool.Failed, "Read it to see what it holds.", "There is no JSON value in %s.", in.where)
			}
			return nil
		}
		if err, ok := value.(error); ok {
			return err
		}
		if more, err := w.run(run, value, in); err != nil || !more {
			return err
		}
	}
}

// run takes what the filter makes of one value; false: no more is wanted.
func (w *results) run(run *gojq.Code, value any, in *values) (more bool, err error) {
	iter := run.Run(value)
	for {
		out, ok := iter.Next()
		if !ok {
			return true, nil
		}
		if err, ok := out.(error); ok {
			if stop, ok := errors.AsType[*gojq.HaltError](err); ok && stop.Value() == nil {
				return false, nil
			}
			return false, w.fault(err, in.n)
		}
		if !w.take(out) {
			return false, nil
		}
	}
}

// inputs is the function of that name, not a field, a variable or a text.
var inputs = regexp.MustCompile(`(?:^|[^.$"\w])inputs?(?:$|[^"\w])`)

func usesInputs(filter string) bool { return inputs.MatchString(filter) }

// take adds a result, and says whether more are wanted.
func (w *results) take(v any) bool {
	w.seen++
	if w.seen <= w.in.Offset {
		return true
	}
	if w.shown == w.in.Limit || w.text.Len() > maxText {
		w.early = true
		return false
	}
	w.shown++
	w.text.WriteString(show(v))
	w.text.WriteByte('\n')
	return true
}

// show writes a value: text as it is, short lists and objects on one line, and
// long ones spread out.
func show(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	b, err := gojq.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	const line = 160 // bytes
	if len(b) <= line {
		return string(b)
	}
	var raw json.RawMessage = b
	if wide, err := json.MarshalIndent(raw, "", "  "); err == nil {
		return unescape(wide)
	}
	return string(b)
}

// unescape takes back what MarshalIndent escapes for web pages.
func unescape(b []byte) string {
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(b))
}

func (w *results) fault(err error, n int) error {
	if e, ok := errors.AsType[*tool.Error](err); ok {
		return e
	}
	where := ""
	if n > 1 {
		where = fmt.Sprintf(" at value %d", n)
	}
	hint := "Look at the structure first with the filter \"keys\" or \"type\"; \"?\" after a step passes over what does not fit."
	return guest.Errorf(tool.Failed, hint, "The filter fails%s: %s.", where, strings.TrimSuffix(err.Error(), "."))
}

func (w *results) result() (guest.Result, error) {
	switch {
	case w.seen == 0:
		return guest.Text("The filter gives no result."), nil
	case w.shown == 0:
		return guest.Result{}, guest.Errorf(tool.BadArgs, "Ask from a smaller offset.", "The filter gives %s results; offset is %d.", guest.Grouped(w.seen), w.in.Offset)
	}
	r := guest.Text(w.text.String())
	if w.early {
		next := w.in
		next.Offset += w.shown
		raw, err := json.Marshal(map[string]int{"offset": next.Offset})
		if err != nil {
			return r, err
		}
		r.More = &tool.More{Shown: w.shown, Args: raw}
	}
	return r, nil
}
