package parse

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent/parse/internal/marker"
	"github.com/weirhost/weir/sdk/tool"
)

// Every entry of the table is read as its format, and its openings are in the example or
// are tried in its place.
func TestEveryEntryIsRead(t *testing.T) {
	o := Options{Tools: []tool.Spec{{Name: "get_weather", Params: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)}}}
	seen := map[Format]bool{}
	for _, e := range marker.Formats {
		if seen[e.Format] || e.En == "" || e.Zh == "" || len(e.Openings) == 0 {
			t.Errorf("%s has two entries, or one that is not complete", e.Format)
		}
		seen[e.Format] = true
		calls := Calls(All(o, e.Example))
		if len(calls) != 1 || calls[0].Format != e.Format || string(calls[0].Args) != `{"city":"Oslo"}` {
			t.Errorf("%s: %q is read as %v", e.Format, e.Example, calls)
		}
		for _, open := range e.Openings {
			tag := strings.HasPrefix(open, "<") && strings.HasSuffix(open, ">") && !strings.ContainsAny(open, " =")
			if !tag || e.Format == FormatHarmony {
				continue
			}
			text := open + `{"name": "get_weather", "arguments": {"city": "Oslo"}}`
			if calls := Calls(All(o, text)); len(calls) != 1 || calls[0].Format != e.Format {
				t.Errorf("%q is read as %v; want a %s", text, calls, e.Format)
			}
		}
	}
}

// docs/formats.md and its Chinese page are written from the table.
func TestFormatsPage(t *testing.T) {
	for path, want := range map[string]string{
		"../../docs/formats.md":       formatsPage("# Formats of tool calls\n\n[中文](formats.zh-CN.md)\n\nThis page is generated from the table in `agent/parse/internal/marker/formats.go`. weir reads all of these formats for every model; nothing has to be\nset. After any opening any shape is read. The words of tags and tokens are read in any case and with the separators that models exchange. Which\ntexts are examples and do not run: [RATIONALE.md](../RATIONALE.md#by-which-signs-is-an-example-told-from-a-call). With a provider's own tool calling only one\ncomplete call with a closing mark, alone at the end of a reply, counts: [calls.md](calls.md#with-native-calling).\n", "written by", "opening", "shape", "example", func(e marker.Entry) string { return e.En }),
		"../../docs/formats.zh-CN.md": formatsPage("# 工具调用的格式\n\n[English](formats.md)\n\n本页由 `agent/parse/internal/marker/formats.go` 中的表生成。weir 对每个模型都识别以下全部格式，无需设置。任何开头之后都可以是任何形式。\n标签和标记中的单词不区分大小写，也不区分模型常混用的分隔符。哪些文本是示例、不会执行：见 [RATIONALE.md](../RATIONALE.md#by-which-signs-is-an-example-told-from-a-call)（英文）。\n使用服务商自己的工具调用时，只有带结束标记、单独位于回复结尾的一个完整调用才算：见 [calls.md](calls.zh-CN.md#使用原生调用时)。\n", "使用者", "开头", "形式", "示例", func(e marker.Entry) string { return e.Zh }),
	} {
		if *update {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s is not what the table says (%v); run go test ./agent/parse -run TestFormatsPage -update", path, err)
		}
	}
}

func formatsPage(head, use, opening, shape, example string, who func(marker.Entry) string) string {
	var b strings.Builder
	b.WriteString(head)
	for _, e := range marker.Formats {
		fmt.Fprintf(&b, "\n## %s\n\n- %s: %s\n- %s: %s\n- %s: `%s`\n- %s:\n\n  ````text\n", e.Format, use, who(e), opening, codes(e.Openings), shape, e.Shape, example)
		for line := range strings.Lines(e.Example + "\n") {
			b.WriteString("  " + line)
		}
		b.WriteString("  ````\n")
	}
	return b.String()
}

// codes writes openings as code.
func codes(openings []string) string {
	var out []string
	for _, o := range openings {
		if strings.Contains(o, "`") {
			o = " " + o + " "
			out = append(out, "````"+o+"````")
			continue
		}
		out = append(out, "`"+o+"`")
	}
	return strings.Join(out, ", ")
}
