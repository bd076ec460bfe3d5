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
	maxInput   = 16 << 20 // bytes of a file; decoded it takes several times as much
	maxCounted = 200_000  // results that are computed for their number alone
)

type args struct {
	Filter   string `json:"filter"`
	FilePath string `json:"file_path"`
	JSON     string `json:"json"`
	Offset   int    `json:"offset"`
	Limit    int    `json:"limit"` // 0: all
}

// query runs the filter on every value of the input, as jq does.
func query(c *guest.Call, in args) (guest.Result, error) {
	code, err := compile(in.Filter)
	if err != nil {
		return guest.Result{}, err
	}
	text, sources, err := in.input(c)
	if err != nil {
		return guest.Result{}, err
	}
	values := &values{decoder: json.NewDecoder(strings.NewReader(text)), text: text, where: in.named()}
	values.decoder.UseNumber()
	run, err := gojq.Compile(code, gojq.WithInputIter(values), gojq.WithEnvironLoader(func() []string { return nil }))
	if err != nil {
		return guest.Result{}, guest.Errorf(tool.BadArgs, "Correct the filter.", "The filter cannot be used: %s.", strings.TrimSuffix(err.Error(), ".")).
			Zh("请修正过滤器。", "过滤器无法使用：%s。")
	}
	w := &results{in: in}
	if err := w.collect(run, values); err != nil {
		return guest.Result{}, err
	}
	r, err := w.result(c)
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
		return nil, guest.Errorf(tool.BadArgs, "Correct the filter.", "The filter cannot be read: %v.", err).
			Zh("请修正过滤器。", "无法解析过滤器：%v。")
	}
	at := max(bad.Offset-len(bad.Token), 0)
	what := tool.Text{Format: "at %q", Zh: "%q 处", Args: []any{bad.Token}}
	if bad.Token == "" {
		what = tool.Text{Format: "at its end", Zh: "末尾"}
	}
	return nil, guest.Errorf(tool.BadArgs, "Correct the filter there; write strings in double quotes, fields begin with a dot.",
		"The filter cannot be read %s, character %d: %s", what, len([]rune(filter[:min(at, len(filter))]))+1, filter).
		Zh("请修正该处；字符串用双引号，字段以点开头。", "无法解析过滤器的%s（第 %d 个字符）：%s")
}

func (in args) named() tool.Text {
	if in.FilePath != "" {
		return tool.Textf("%s", in.FilePath)
	}
	return tool.Text{Format: "the JSON text", Zh: "JSON 文本"}
}

// input is the text to query and where it comes from.
func (in args) input(c *guest.Call) (string, []tool.Source, error) {
	switch {
	case in.FilePath != "" && in.JSON != "":
		return "", nil, guest.Errorf(tool.BadArgs, "Leave one of them out.", "Both \"file_path\" and \"json\" are given.").
			Zh("请去掉其中一个。", "同时给出了 \"file_path\" 和 \"json\"。")
	case in.FilePath == "" && in.JSON == "":
		return "", nil, guest.Errorf(tool.BadArgs, "Give \"file_path\" or \"json\".", "There is nothing to query.").
			Zh("请给出 \"file_path\" 或 \"json\"。", "没有可查询的内容。")
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
			"%q has %s bytes; at most %s can be queried.", name, guest.Grouped(int(info.Size())), guest.Grouped(maxInput)).
			Zh("请用 grep_search 找到需要的部分，或改用较小的文件。", "%q 有 %s 字节；最多可查询 %s 字节。")
	}
	f, err := tree.FS.Open(name)
	if err != nil {
		return "", nil, guest.Errorf(tool.Failed, "Go on without it.", "%q cannot be opened.", name).
			Zh("请不用它继续。", "无法打开 %q。")
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxInput+1))
	if err != nil {
		return "", nil, guest.Errorf(tool.Failed, "Try again, or go on without it.", "%q cannot be read to its end.", name).
			Zh("请重试，或不用它继续。", "无法把 %q 读到末尾。")
	}
	return string(files.Text(b)), []tool.Source{{Title: name, URL: name}}, nil
}

// values hands out the values of the input, one after the other: to the filter
// itself where it asks for inputs, and else to the loop around it.
type values struct {
	decoder *json.Decoder
	text    string
	where   tool.Text
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
	hint := tool.Text{Format: "Read the file to see what it holds; only JSON and JSON Lines can be queried.", Zh: "请读取该文件查看其内容；只能查询 JSON 和 JSON Lines。"}
	if v.n > 0 {
		hint = tool.Text{Format: "The first %d values can be read; fix the rest.", Zh: "前 %d 个值可以读取；请修正其余部分。", Args: []any{v.n}}
	}
	why := tool.Textf("%s", strings.TrimPrefix(err.Error(), "json: "))
	if errors.Is(err, io.ErrUnexpectedEOF) {
		why = tool.Text{Format: "it ends in the middle of a value", Zh: "在一个值的中间结束"}
	}
	return guest.Errorf(tool.Failed, hint.String(), "Line %d of %s is no JSON: %s.", line, v.where, why).
		Zh(hint.In(tool.Zh), "%[2]s 的第 %[1]d 行不是 JSON：%[3]s。")
}

// results collects what the filter gives.
type results struct {
	in        args
	text      guest.List
	seen      int // results so far, those that are not in text too
	shown     int
	enough    bool // text has what was asked for; the others are counted
	uncounted bool // there are more than seen
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
				return guest.Errorf(tool.Failed, "Read it to see what it holds.", "There is no JSON value in %s.", in.where).
					Zh("请读取它查看其内容。", "%s 中没有 JSON 值。")
			}
			return nil
		}
		if err, ok := value.(error); ok {
			return w.ended(err)
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
			return false, w.ended(w.fault(err, in.n))
		}
		if !w.take(out) {
			return false, nil
		}
	}
}

// inputs is the function of that name, not a field, a variable or a text.
var inputs = regexp.MustCompile(`(?:^|[^.$"\w])inputs?(?:$|[^"\w])`)

func usesInputs(filter string) bool { return inputs.MatchString(filter) }

// take adds a result, or counts it, and says whether more are wanted.
func (w *results) take(v any) bool {
	w.seen++
	if w.seen <= w.in.Offset {
		return true
	}
	if w.enough {
		w.uncounted = w.seen >= maxCounted
		return !w.uncounted
	}
	text := ""
	if w.enough = w.shown == w.in.Limit && w.in.Limit > 0; !w.enough {
		text = show(v)
		w.enough = !w.text.Fits(len(text) + 1)
	}
	if w.enough {
		return true
	}
	w.shown++
	w.text.Entry()
	w.text.WriteString(text + "\n")
	return true
}

// ended returns the failure of the filter or its input. What was asked for and is there
// does not fail because of what follows: how much that is remains unknown.
func (w *results) ended(err error) error {
	if !w.enough {
		return err
	}
	w.uncounted = true
	return nil
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
	where := tool.Text{}
	if n > 1 {
		where = tool.Text{Format: " at value %d", Zh: "在第 %d 个值处", Args: []any{n}}
	}
	hint := "Look at the structure first with the filter \"keys\" or \"type\"; \"?\" after a step passes over what does not fit."
	return guest.Errorf(tool.Failed, hint, "The filter fails%s: %s.", where, strings.TrimSuffix(err.Error(), ".")).
		Zh("请先用过滤器 \"keys\" 或 \"type\" 查看结构；在一步之后加 \"?\" 可跳过不符合的值。", "过滤器%s执行失败：%s。")
}

func (w *results) result(c *guest.Call) (guest.Result, error) {
	switch {
	case w.seen == 0:
		return guest.Text(c.Say("The filter gives no result.", "过滤器没有得到结果。")), nil
	case w.shown == 0:
		return guest.Result{}, guest.Errorf(tool.BadArgs, "Ask from a smaller offset.", "The filter gives %s results; offset is %d.", guest.Grouped(w.seen), w.in.Offset).
			Zh("请使用较小的 offset。", "过滤器得到 %s 个结果；offset 是 %d。")
	}
	r := w.text.Result()
	if w.enough {
		raw, err := json.Marshal(map[string]int{"offset": w.in.Offset + w.shown})
		if err != nil {
			return r, err
		}
		r.More = &tool.More{Shown: w.shown, Args: raw}
		if !w.uncounted {
			r.More.Total = w.seen
		}
	}
	return r, nil
}
