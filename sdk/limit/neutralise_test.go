package limit_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

func TestNeutralise(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"<tool_call>", "＜tool_call>"},
		{"</tool_call>", "＜/tool_call>"},
		{"< / Tool_Call >", "＜ / Tool_Call >"}, // models forgive spaces and case
		{"<minimax:tool_call>", "＜minimax:tool_call>"},
		{"<<tool_call>", "<＜tool_call>"}, // only the token's own first character
		{"<function=grep><parameter=x>", "＜function=grep>＜parameter=x>"},
		{"<invoke name=\"x\">", "＜invoke name=\"x\">"},
		{"<think>plan</think>", "＜think>plan＜/think>"},
		{"<|im_start|>system", "＜|im_start|>system"},
		{"<|start_header_id|>", "＜|start_header_id|>"},
		{"<｜tool▁calls▁begin｜>", "＜｜tool▁calls▁begin｜>"},
		{"<start_of_turn>user", "＜start_of_turn>user"},
		{"<turn|>\n<|turn>model\n<|channel>thought", "＜turn|>\n＜|turn>model\n＜|channel>thought"},                     // Gemma 4
		{"x[e~[\n]~b]user\n]~!b[]~b]ai", "x［e~[\n]～b]user\n]～!b[]～b]ai"},                                             // MiniMax
		{"<role>HUMAN</role><role>reader</role>", "＜role>HUMAN</role><role>reader</role>"},                           // Ling
		{"<SPECIAL_11>User\n<extra_id_1>User <special_price>", "＜SPECIAL_11>User\n＜extra_id_1>User <special_price>"}, // Nemotron
		{"[INST] <<SYS>> x <</SYS>> [/INST]", "［INST] ＜<SYS>> x ＜</SYS>> ［/INST]"},
		{"[TOOL_CALLS][{}]", "［TOOL_CALLS][{}]"},
		{"```tool_call\n{}\n```", "｀``tool_call\n{}\n```"},
		{"````` tool_code", "｀｀｀`` tool_code"}, // no three in a row may be left
		{"~~~tool_call", "～~~tool_call"},
		{"Action Input: {}", "Ａction Input: {}"},
		{"x\naction input: {}", "x\nａction input: {}"},
		{"functools[{}] functools.partial", "functools［{}] functools.partial"},
		{"📎 [工具结果存档: 1]", "🖇 ［工具结果存档: 1]"},
		{"📎[Tool result archived: 1]", "🖇［Tool result archived: 1]"},
		{"📎\ufe0f [存档:uuid-001]", "🖇\ufe0f ［存档:uuid-001]"},
		{"[28,110 of 35,870 characters (6 of 8 lines) left out", "［28,110 of 35,870 characters (6 of 8 lines) left out"},
		{"[… lines 3-9]", "［… lines 3-9]"},
		{"[Identical to the result of 2026", "［Identical to the result of 2026"},
		{"[结果相同: 与 2026", "［结果相同: 与 2026"},
	} {
		if got := limit.Neutralise(tc.in); got != tc.want {
			t.Errorf("%q becomes %q, want %q", tc.in, got, tc.want)
		}
	}
}

func TestNeutraliseLeavesOthersAlone(t *testing.T) {
	for _, s := range []string{
		"<div class=\"tool\"><a href=\"https://x.example/tool_call\">x</a></div>", // HTML
		"<s>struck</s> <input> <invoice> <summary>",                               // tags that only begin alike
		"vector<int> a; if (a[0] < tools.size()) b = a[1];",                       // code
		"x <| y |> z", "a <|> b", "case <|f x|>, y", // operators
		"[1] [x](y) [TODO] [5 of 7] [3 of 4 stars]", // brackets
		"```json\n{\"tool\":\"x\"}\n```", "```go", "~~~", "``tool_call``",
		"Action: none. My action input: x", // not at the start of a line
		"📎 see the attachment", "📎",
		"＜tool_call>", "",
	} {
		if got := limit.Neutralise(s); got != s {
			t.Errorf("%q becomes %q", s, got)
		}
	}
}

// In the text of a tool, Neutralise changes every sentence that Render writes.
func TestNeutraliseKnowsEveryNotice(t *testing.T) {
	for name, r := range notices() {
		for _, l := range []tool.Locale{tool.En, tool.Zh} {
			for line := range strings.Lines(limit.Render(r, l)) {
				if strings.HasPrefix(line, "[") && !strings.HasPrefix(line, "[123") && limit.Neutralise(line) == line {
					t.Errorf("%s, %s: a tool may write %s", name, l, line)
				}
			}
		}
	}
}

// NeutraliseCalls leaves what Render writes, and placeholders, as they are, and all else as
// Neutralise does.
func TestNeutraliseCallsLeavesNotices(t *testing.T) {
	for name, r := range notices() {
		r.Shown.Text = strings.ReplaceAll(r.Shown.Text, "<", "")
		for _, l := range []tool.Locale{tool.En, tool.Zh} {
			if text := limit.RenderExact(r, l); limit.NeutraliseCalls(text) != text {
				t.Errorf("%s, %s: %q becomes %q", name, l, text, limit.NeutraliseCalls(text))
			}
		}
	}
	const placeholder = "📎 [Tool result archived: x]\n"
	if got := limit.NeutraliseCalls(placeholder + "<tool_call> [TOOL_CALLS]"); got != placeholder+"＜tool_call> ［TOOL_CALLS]" {
		t.Error(got)
	}
}

func lawsOfNeutralise(t fataler, s string) {
	t.Helper()
	once := limit.Neutralise(s)
	if limit.Neutralise(once) != once {
		t.Fatalf("%q is changed twice: %q", s, once)
	}
	in, out := []rune(s), []rune(once)
	if utf8.ValidString(s) && len(in) != len(out) {
		t.Fatalf("%q has %d characters, %q %d", s, len(in), once, len(out))
	}
	for i := range min(len(in), len(out)) {
		if in[i] != out[i] && !strings.ContainsRune("<[`~Aa📎", in[i]) {
			t.Fatalf("%q becomes %q at character %d", in[i], out[i], i)
		}
	}
	for _, token := range []string{"<tool_call", "</tool_call", "<|im_start|>", "[TOOL_CALLS]", "```tool_call", "📎 [Tool result archived:", "📎 [工具结果存档:"} {
		if strings.Contains(once, token) {
			t.Fatalf("%q is left in %q", token, once)
		}
	}
}

func TestNeutraliseKeepsItsLaws(t *testing.T) {
	piece := rapid.OneOf(rapid.SampledFrom([]string{
		"<", "[", "`", "~", "📎", "tool_call", "|", "im_start", "/", " ", ">", "TOOL_CALLS]", "工具结果存档:", "Tool result archived:", "\n", "Action Input:", "1,2 of 3", " characters",
	}), rapid.StringN(0, 5, -1))
	rapid.Check(t, func(t *rapid.T) {
		lawsOfNeutralise(t, strings.Join(rapid.SliceOf(piece).Draw(t, "s"), ""))
	})
	for _, s := range corpora() {
		lawsOfNeutralise(t, s)
	}
}

func FuzzNeutralise(f *testing.F) {
	f.Add(forgeries)
	f.Add("````tool_call<<tool_call[[TOOL_CALLS]📎📎 [工具结果存档:")
	f.Fuzz(func(t *testing.T, s string) { lawsOfNeutralise(t, s) })
}
