package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/weirhost/weir/sdk/guest"
	"github.com/weirhost/weir/sdk/guest/files"
	"github.com/weirhost/weir/sdk/tool"
)

const (
	defaultContext = 3
	minContext     = 1 // without context the library miscounts line numbers
	maxContext     = 100
	maxInput       = 4 << 20 // bytes of one text
)

type args struct {
	OldPath string  `json:"old_path"`
	NewPath string  `json:"new_path"`
	OldText *string `json:"old_text"`
	NewText *string `json:"new_text"`
	Context *int    `json:"context"` // absent: 3
}

// A side is one of the two texts.
type side struct {
	label string
	text  string
}

func compare(c *guest.Call, in args) (guest.Result, error) {
	context := defaultContext
	if in.Context != nil {
		context = min(max(*in.Context, minContext), maxContext)
	}
	var sources []tool.Source
	was, err := read(c, in.OldPath, in.OldText, "old", &sources)
	if err != nil {
		return guest.Result{}, err
	}
	is, err := read(c, in.NewPath, in.NewText, "new", &sources)
	if err != nil {
		return guest.Result{}, err
	}
	text, err := difference(was, is, context, c.Say)
	r := entries(text)
	r.Sources = sources
	return r, err
}

// entries returns a diff with each place that differs as an entry. Only the first line of
// a place begins with @@: the others begin with a blank, + or -.
func entries(diff string) guest.Result {
	var l guest.List
	for line := range strings.Lines(diff) {
		if strings.HasPrefix(line, "@@ ") {
			l.Entry()
		}
		l.WriteString(line)
	}
	return l.Result()
}

// read takes a text from its file or from the arguments.
func read(c *guest.Call, path string, text *string, name string, sources *[]tool.Source) (side, error) {
	switch {
	case path != "" && text != nil:
		return side{}, guest.Errorf(tool.BadArgs, "Leave one of them out.", "Both \"%s_path\" and \"%s_text\" are given.", name, name).
			Zh("请去掉其中一个。", "同时给出了 \"%s_path\" 和 \"%s_text\"。")
	case text != nil && len(*text) > maxInput:
		return side{}, tooLarge(sideText(name), len(*text))
	case text != nil:
		return side{name, *text}, nil
	case path == "":
		return side{}, guest.Errorf(tool.BadArgs, "Give \""+name+"_path\" or \""+name+"_text\".", "%s is missing.", sideText(name)).Zh("请给出 \""+name+"_path\" 或 \""+name+"_text\"。", "缺少%s。")
	}
	tree := files.In(c, files.Workspace)
	path, info, err := tree.File(path)
	if err != nil {
		return side{}, err
	}
	if info.Size() > maxInput {
		return side{}, tooLarge(tool.Textf("%q", path), int(info.Size()))
	}
	f, err := tree.FS.Open(path)
	if err != nil {
		return side{}, guest.Errorf(tool.Failed, "Go on without it.", "%q cannot be opened.", path).Zh("请不用它继续。", "无法打开 %q。")
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxInput+1))
	if err != nil {
		return side{}, guest.Errorf(tool.Failed, "Try again, or go on without it.", "%q cannot be read to its end.", path).
			Zh("请重试，或不用它继续。", "无法把 %q 读到末尾。")
	}
	if kind := files.Kind(b[:min(len(b), files.SniffBytes)]); !kind.IsZero() {
		return side{}, guest.Errorf(tool.BadArgs, "Compare text files.", "%q is %s.", path, kind).Zh("请比较文本文件。", "%q 是%s。")
	}
	*sources = append(*sources, tool.Source{Title: path, URL: path})
	return side{path, string(files.Text(b))}, nil
}

// sideText names one of the two texts.
func sideText(name string) tool.Text {
	if name == "new" {
		return tool.Text{Format: "The new text", Zh: "新文本"}
	}
	return tool.Text{Format: "The old text", Zh: "旧文本"}
}

func tooLarge(what tool.Text, n int) error {
	return guest.Errorf(tool.TooLarge, "Compare smaller parts, as texts.", "%s has %s bytes; at most %s are compared.", what, guest.Grouped(n), guest.Grouped(maxInput)).
		Zh("请以文本形式比较较小的部分。", "%s有 %s 字节；最多比较 %s 字节。")
}

// difference writes a line of numbers and the unified diff.
func difference(was, is side, context int, say func(en, zh string) string) (string, error) {
	if was.text == is.text {
		return say("No difference.\n", "没有不同。\n"), nil
	}
	edits := udiff.Lines(was.text, is.text)
	diff, err := udiff.ToUnifiedDiff(was.label, is.label, was.text, edits, context)
	if err != nil {
		return "", guest.Errorf(tool.Failed, "Compare smaller parts.", "The difference cannot be written: %v.", err).
			Zh("请比较较小的部分。", "无法写出差异：%v。")
	}
	added, removed := 0, 0
	for _, h := range diff.Hunks {
		for _, l := range h.Lines {
			switch l.Kind {
			case udiff.Insert:
				added++
			case udiff.Delete:
				removed++
			}
		}
	}
	head := fmt.Sprintf(say("%s places, %s lines added, %s removed", "%s 处不同，新增 %s 行，删除 %s 行"), guest.Grouped(len(diff.Hunks)), guest.Grouped(added), guest.Grouped(removed))
	if note := lineEnds(was.text, is.text, say); note != "" {
		head += note
	}
	return head + "\n" + diff.String(), nil
}

// lineEnds explains a diff in which every line differs and none looks it.
func lineEnds(was, is string, say func(en, zh string) string) string {
	if a, b := strings.Contains(was, "\r\n"), strings.Contains(is, "\r\n"); a != b {
		return say("; one of them ends its lines with CR LF", "；其中一个以 CR LF 换行")
	}
	return ""
}
