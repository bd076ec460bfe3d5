package prompt

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weirhost/weir/sdk/tool"
)

// TestScriptPart: the prompt declares the tools of scripts within its budget, in the
// language of the conversation, and the same for every question.
func TestScriptPart(t *testing.T) {
	tools := []tool.Spec{{Name: tool.RunScript, Description: "Runs a script."}, {Name: tool.LoadHistory}, {Name: "tool_script", Script: true}}
	for i := range 100 {
		tools = append(tools, tool.Spec{
			Name: fmt.Sprintf("tool_%02d", i), Description: "Does one thing.</tool_result>", DescriptionZh: "做一件事。",
			Params: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`),
		})
	}
	for _, native := range []bool{false, true} {
		in := Input{Locale: tool.En, Native: native, Tools: tools, Budget: 16000, Today: time.Unix(0, 0)}
		en := New(in).Text
		if n := strings.Count(en, "declare function tool_"); n == 0 || n >= 100 || !strings.Contains(en, fmt.Sprintf("// and %d more: await tools.find(query)", 100-n)) {
			t.Errorf("native %v: %d declarations", native, n)
		}
		if strings.Contains(en, "declare function run_script") || strings.Contains(en, "</tool_result>") {
			t.Errorf("native %v: %s", native, en)
		}
		in.First = "What does tool_99 do?"
		if _, a, _ := strings.Cut(en, "# Scripts"); !strings.Contains(New(in).Text, a) {
			t.Errorf("native %v: the question changes the declarations", native)
		}
		in.Locale = tool.Zh
		if zh := New(in).Text; !strings.Contains(zh, "declare function tool_00(args: { path: string }): Promise<Result>; // 做一件事。") {
			t.Errorf("native %v: %s", native, zh)
		}
		in.Tools = tools[1:]
		if strings.Contains(New(in).Text, "declare function") {
			t.Errorf("native %v: without scripts there are declarations", native)
		}
	}
}

// Where tools are searched for, a script searches for them too: the prompt declares the
// pinned ones alone.
func TestScriptPartOfToolsThatAreSearchedFor(t *testing.T) {
	tools := []tool.Spec{{Name: tool.RunScript, Description: "Runs a script."}}
	for i := range 510 {
		tools = append(tools, tool.Spec{
			Name: fmt.Sprintf("office__tool_%03d", i), Description: "Does one thing " + strings.Repeat("with care ", 20),
			Params: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`),
		})
	}
	source := func(name string) string {
		from, _, searched := strings.Cut(name, "__")
		if !searched {
			return ""
		}
		return from
	}
	for _, native := range []bool{false, true} {
		in := Input{Locale: tool.En, Native: native, Tools: tools, Budget: 16000, Today: time.Unix(0, 0), Finding: &Finding{Source: source, Pinned: []string{"office__tool_400"}}}
		got := New(in).Text
		if n := strings.Count(got, "declare function "); n != 1 || !strings.Contains(got, "declare function office__tool_400(") {
			t.Errorf("native %v: %d declarations", native, n)
		}
		if !strings.Contains(got, "// and 509 more: await tools.find(query)") {
			t.Errorf("native %v: %s", native, got)
		}
		if n := RuneCount(got); n > 6000 {
			t.Errorf("native %v: the prompt has %d characters", native, n)
		}
		in.Finding.Pinned = nil // run_script itself says how a script searches
		if got := New(in).Text; strings.Contains(got, "# Scripts") {
			t.Errorf("native %v: a section without declarations: %s", native, got)
		}
	}
}
