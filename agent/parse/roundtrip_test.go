package parse_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhost/weir/agent/parse"
	"github.com/weirhost/weir/agent/parse/eval"
	"github.com/weirhost/weir/sdk/tool"
)

// store is a tool with a parameter of every type.
func store() parse.Options {
	return parse.Options{Tools: []tool.Spec{
		spec("store", `"text":{"type":"string"},"n":{"type":"integer"},"x":{"type":"number"},"on":{"type":"boolean"},"list":{"type":"array","items":{"type":"string"}},"obj":{"type":"object"}`, "text"),
		spec("get_time", ``),
	}}
}

// nasty are the parts of strings that have meaning somewhere.
var nasty = []string{
	"\"", "'", "\\", "`", "```", "\n", "\n```\n", "{", "}", "[", "]", "(", ")", ", ", ": ", "=", "\", \"", "\": \"", "\"}", "\"]", "')", "'),", "\\n", "//", "#", "--",
	"<tool_call>", "</tool_call>", "<think>", "</think>", "[TOOL_CALLS]", "<|im_end|>", "<|call|>", "store(", "get_time()", "), store(text=", "{\"name\":\"get_time\",\"arguments\":{}}",
	"a", "it's", "he said \"hi\"", "C:\\temp", "\\d+", "é", "天气", "😀", " ", "\t", "5\"", "\u2028", "<b>x</b>",
}

func drawText(t *rapid.T, label string) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(nasty), 0, 8).Draw(t, label), "")
}

func drawArgs(t *rapid.T) map[string]any {
	args := map[string]any{"text": drawText(t, "text")}
	if rapid.Bool().Draw(t, "n?") {
		args["n"] = float64(rapid.IntRange(-1000, 1000).Draw(t, "n"))
	}
	if rapid.Bool().Draw(t, "x?") {
		args["x"] = float64(rapid.IntRange(-1000, 1000).Draw(t, "x")) / 8
	}
	if rapid.Bool().Draw(t, "on?") {
		args["on"] = rapid.Bool().Draw(t, "on")
	}
	if rapid.Bool().Draw(t, "list?") {
		list := []any{}
		for i := range rapid.IntRange(0, 3).Draw(t, "len") {
			list = append(list, drawText(t, "item"+strconv.Itoa(i)))
		}
		args["list"] = list
	}
	if rapid.Bool().Draw(t, "obj?") {
		args["obj"] = map[string]any{"k": drawText(t, "k"), "deep": map[string]any{"on": true, "none": nil, "l": []any{1.0, "two"}}}
	}
	return args
}

func jsonOf(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

func indented(v any) string {
	b, _ := json.MarshalIndent(v, "", "  ")
	return string(b)
}

// python writes a value as Python's repr does, with the given quote.
func python(v any, q string) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		return map[bool]string{true: "True", false: "False"}[v]
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case string:
		r := strings.NewReplacer(`\`, `\\`, q, `\`+q, "\n", `\n`, "\t", `\t`)
		return q + r.Replace(v) + q
	case []any:
		var parts []string
		for _, e := range v {
			parts = append(parts, python(e, q))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		var parts []string
		for k, e := range v {
			parts = append(parts, python(k, q)+": "+python(e, q))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return ""
}

func kwargs(args map[string]any, q string) string {
	var parts []string
	for k, v := range args {
		parts = append(parts, k+"="+python(v, q))
	}
	return "store(" + strings.Join(parts, ", ") + ")"
}

// writers are the formats whose strings are escaped: whatever the arguments
// hold, they must come back unchanged.
var writers = map[string]func(map[string]any) string{
	"tag": func(a map[string]any) string {
		return "<tool_call>" + jsonOf(map[string]any{"id": "c", "tool_name": "store", "arguments": a}) + "</tool_call>"
	},
	"tag, indented, open": func(a map[string]any) string {
		return "<tool_call>\n" + indented(map[string]any{"name": "store", "arguments": a})
	},
	"fence": func(a map[string]any) string {
		return "```json\n" + indented(map[string]any{"name": "store", "parameters": a}) + "\n```"
	},
	"fence tool_call": func(a map[string]any) string {
		return "```tool_call\n" + jsonOf(map[string]any{"name": "store", "arguments": a}) + "\n```"
	},
	"bare": func(a map[string]any) string { return jsonOf(map[string]any{"name": "store", "arguments": a}) },
	"bare, flat": func(a map[string]any) string {
		return `{"tool":"store",` + strings.TrimPrefix(jsonOf(a), "{")
	},
	"stringified": func(a map[string]any) string {
		return jsonOf(map[string]any{"tool_calls": []any{map[string]any{"id": "c", "type": "function", "function": map[string]any{"name": "store", "arguments": jsonOf(a)}}}})
	},
	"Python quotes": func(a map[string]any) string {
		return python([]any{map[string]any{"name": "store", "parameters": a}}, "'")
	},
	"pythonic":       func(a map[string]any) string { return "[" + kwargs(a, `"`) + "]" },
	"pythonic, '":    func(a map[string]any) string { return "[" + kwargs(a, "'") + ", get_time()]" },
	"pythonic, bare": func(a map[string]any) string { return kwargs(a, `"`) },
	"pythonic, code": func(a map[string]any) string { return "```python\n" + kwargs(a, "'") + "\n```" },
	"Mistral":        func(a map[string]any) string { return "[TOOL_CALLS]store[ARGS]" + jsonOf(a) },
	"DeepSeek": func(a map[string]any) string {
		return "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>store<｜tool▁sep｜>" + jsonOf(a) + "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
	},
	"Kimi": func(a map[string]any) string {
		return "<|tool_calls_section_begin|><|tool_call_begin|>functions.store:0<|tool_call_argument_begin|>" + jsonOf(a) + "<|tool_call_end|><|tool_calls_section_end|>"
	},
	"harmony": func(a map[string]any) string {
		return "<|channel|>commentary to=functions.store <|constrain|>json<|message|>" + jsonOf(a) + "<|call|>"
	},
	"Llama": func(a map[string]any) string {
		return "<|python_tag|>" + jsonOf(map[string]any{"type": "function", "name": "store", "parameters": a})
	},
	"function tag":  func(a map[string]any) string { return "<function=store>" + jsonOf(a) + "</function>" },
	"ReAct":         func(a map[string]any) string { return "Thought: so.\nAction: store\nAction Input: " + jsonOf(a) },
	"name and JSON": func(a map[string]any) string { return "store\n" + jsonOf(a) },
}

// wordBracket is what a lost quote before a call's last bracket looks like, as
// in f(a='French): the one thing that is repaired at the end of a reply.
var wordBracket = regexp.MustCompile(`[A-Za-z]{3}\)`)

func TestArgumentsComeBackUnchanged(t *testing.T) {
	for name, write := range writers {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				args := drawArgs(t)
				text := write(args)
				calls := parse.Calls(parse.All(store(), text))
				if len(calls) == 0 || calls[0].Name != "store" {
					t.Fatalf("not recognised: %s\n%s", text, show(parse.All(store(), text)))
				}
				var got map[string]any
				if err := json.Unmarshal(calls[0].Args, &got); err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(got, args) {
					t.Fatalf("%s\nwant %s\ngot  %s", text, jsonOf(args), jsonOf(got))
				}
				if len(calls) > 2 || len(calls) == 2 && calls[1].Name != "get_time" {
					t.Fatalf("more calls than there are: %s", text)
				}
				if err := eval.Laws(store(), text, false); err != nil {
					t.Fatal(err)
				}
				if len(text) > 160 || wordBracket.MatchString(text) { // every prefix is read
					return
				}
				if at, c, found := eval.Hasty(store(), text); found {
					t.Fatalf("the first %d bytes call %s%s:\n%s", at, c.Name, c.Args, text)
				}
			})
		})
	}
}

// tagged are the formats without escapes: their texts come back unchanged as
// long as they hold no tag.
var tagged = map[string]func(text string, n int) string{
	"Qwen3-Coder": func(s string, n int) string {
		return fmt.Sprintf("<tool_call>\n<function=store>\n<parameter=text>\n%s\n</parameter>\n<parameter=n>\n%d\n</parameter>\n</function>\n</tool_call>", s, n)
	},
	"invoke": func(s string, n int) string {
		return fmt.Sprintf("<function_calls>\n<invoke name=\"store\">\n<parameter name=\"text\">%s</parameter>\n<parameter name=\"n\">%d</parameter>\n</invoke>\n</function_calls>", s, n)
	},
	"GLM": func(s string, n int) string {
		return fmt.Sprintf("<tool_call>store\n<arg_key>text</arg_key>\n<arg_value>%s</arg_value>\n<arg_key>n</arg_key>\n<arg_value>%d</arg_value>\n</tool_call>", s, n)
	},
	"name tag": func(s string, n int) string {
		return fmt.Sprintf("<store>\n<text>%s</text>\n<n>%d</n>\n</store>", s, n)
	},
	"CDATA": func(s string, n int) string {
		return fmt.Sprintf("<function name=\"store\"><param name=\"text\"><![CDATA[%s]]></param><param name=\"n\">%d</param></function>", s, n)
	},
	"Gemma": func(s string, n int) string {
		return fmt.Sprintf("<start_function_call>call:store{text:<escape>%s<escape>,n:%d}<end_function_call>", s, n)
	},
}

func TestTaggedTextComesBackUnchanged(t *testing.T) {
	for name, write := range tagged {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				text := "x" + drawText(t, "text") + "y"
				n := rapid.IntRange(-9, 99).Draw(t, "n")
				if strings.ContainsAny(text, "<") {
					text = strings.ReplaceAll(text, "<", "‹")
				}
				calls := parse.Calls(parse.All(store(), write(text, n)))
				want := map[string]any{"text": text, "n": float64(n)}
				var got map[string]any
				if len(calls) != 1 || json.Unmarshal(calls[0].Args, &got) != nil || !reflect.DeepEqual(got, want) {
					t.Fatalf("%s\nwant %s\ngot  %s", write(text, n), jsonOf(want), show(parse.All(store(), write(text, n))))
				}
			})
		})
	}
}
