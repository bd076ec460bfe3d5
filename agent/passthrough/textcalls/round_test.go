package textcalls_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/weirhost/weir/agent/passthrough/textcalls"
)

// A bad call is corrected in one hidden round. The client sees one answer.
func TestTheHiddenRound(t *testing.T) {
	esc := strings.NewReplacer(`"`, `\"`, "\n", `\n`).Replace
	for _, r := range []struct{ why, first, second, want string }{
		{"an unknown tool", unknown, paris, `"" get_weather{"city":"Paris"} tool_calls`},
		{"text in front", "I look.\n" + unknown, paris, `"I look.\n" get_weather{"city":"Paris"} tool_calls`},
		{"text in front of both", "I look.\n" + unknown, "This way:\n" + paris, `"I look.\n\nThis way:\n" get_weather{"city":"Paris"} tool_calls`},
		{"the text again", "I look.\n" + unknown, "I look.\n" + paris, `"I look.\n" get_weather{"city":"Paris"} tool_calls`},
		{"the text again, and more", "I look.\n" + unknown, "I look. Now:\n" + paris, `"I look.\n\nNow:\n" get_weather{"city":"Paris"} tool_calls`},
		{"a part of the text again", "I look it up.\n" + unknown, "I look\n" + paris, `"I look it up.\n\nI look\n" get_weather{"city":"Paris"} tool_calls`},
		{"text behind the bad call", unknown + "\nThat was it.", paris, `"" get_weather{"city":"Paris"} tool_calls`},
		{"broken JSON", `<tool_call>{"name":"get_weather","arguments":{"city":"a" "b" oops}}</tool_call>`, paris, `"" get_weather{"city":"Paris"} tool_calls`},
		{"an answer in words", "I look.\n" + unknown, "It is four.", `"I look.\n\nIt is four."  stop`},
		{"a thought", "I look.\n" + unknown, "<think>Hm.</think>It is four.", `«Hm.» "I look.\n\nIt is four."  stop`},
		{"unknown again", "I look.\n" + unknown, unknown, `"I look.\n\n` + esc(unknown) + `"  stop`},
		{"unknown again, with words around", "I look.\n" + unknown, "So:\n" + unknown + "\nDone.", `"I look.\n\nSo:\n` + esc(unknown) + `\nDone."  stop`},
		{"nothing", "I look.\n" + unknown + "\nDone.", "", `"I look.\n` + esc(unknown) + `\nDone."  stop`},
		{"a call in a thought that does not end", "<think>Hm. " + paris, "</think>" + paris, `«Hm. ` + paris + `» "" get_weather{"city":"Paris"} tool_calls`},
	} {
		for _, whole := range []bool{false, true} {
			f := &fake{replies: []reply{
				{texts: letters(r.first), whole: whole, usage: `{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12,"prompt_tokens_details":{"cached_tokens":8}}`},
				{texts: letters(r.second), whole: whole, usage: `{"prompt_tokens":30,"completion_tokens":5,"total_tokens":35,"prompt_tokens_details":{"cached_tokens":10}}`},
			}}
			g := ask(t, f, textcalls.Options{}, question("Weather?", ""))
			if g.String() != r.want || len(f.bodies) != 2 {
				t.Errorf("%s (whole: %v):\ngot  %s\nwant %s", r.why, whole, g, r.want)
				continue
			}
			if g.usage != `{"prompt_tokens":40,"completion_tokens":7,"total_tokens":47,"prompt_tokens_details":{"cached_tokens":18}}` || g.counted.Prompt != 40 || g.counted.Completion != 7 {
				t.Errorf("%s (whole: %v): usage %s, %+v", r.why, whole, g.usage, g.counted)
			}
			begin, _ := strings.CutSuffix(gjson.Get(f.bodies[0], "messages").Raw, "]")
			if !strings.HasPrefix(gjson.Get(f.bodies[1], "messages").Raw, begin+`,{"role":"assistant",`) {
				t.Errorf("%s: the second request does not go on with the first:\n%s\n%s", r.why, f.bodies[0], f.bodies[1])
			}
			if m := lastMessage(f.bodies[1]); m.Get("role").String() != "user" || !strings.Contains(m.Get("content").String(), "<tool_call>") && !strings.Contains(m.Get("content").String(), "The tools are") {
				t.Errorf("%s: the correction is %s", r.why, m.Raw)
			}
		}
	}
}

// The model gets its own text back as it wrote it.
func TestTheOwnTextIsWhole(t *testing.T) {
	f := &fake{replies: []reply{says("I look.\n" + unknown), says(paris)}}
	ask(t, f, textcalls.Options{}, question("Weather?", ""))
	if own := gjson.Get(f.bodies[1], "messages.@reverse.1.content").String(); own != "I look.\n"+unknown {
		t.Error(own)
	}
}

// A second request that fails leaves the first reply as it was. One that breaks off after
// something came is a broken stream.
func TestTheSecondRequestFails(t *testing.T) {
	broke := errors.New("broke")
	for _, whole := range []bool{false, true} {
		f := &fake{replies: []reply{{texts: []string{"I look.\n" + unknown}, whole: whole, usage: `{"prompt_tokens":10,"completion_tokens":2}`}}}
		g := ask(t, f, textcalls.Options{}, question("Weather?", ""))
		if g.err != nil || g.content != "I look.\n"+unknown || g.finish != "stop" || g.usage != `{"prompt_tokens":10,"completion_tokens":2}` || len(f.bodies) != 2 {
			t.Errorf("whole %v: %s %s", whole, g, g.usage)
		}
	}
	f := &fake{replies: []reply{says("I look.\n" + unknown), {texts: []string{"Well, "}, err: broke}}}
	if g := ask(t, f, textcalls.Options{}, question("Weather?", "")); !errors.Is(g.err, broke) || g.content != "I look.\n\nWell, " || g.finish != "" {
		t.Error(g)
	}
}

func TestToolChoice(t *testing.T) {
	sentence := func(f *fake) string {
		_, s, _ := strings.Cut(lastMessage(f.bodies[0]).Get("content").String(), "\n\n")
		return s
	}
	plain := &fake{replies: []reply{says("Four.")}}
	ask(t, plain, textcalls.Options{}, question("Weather?", ""))
	described := gjson.Get(plain.bodies[0], "messages.0").Raw
	for _, r := range []struct {
		why, choice, sentence string
		replies               []reply
		want                  string
	}{
		{"none", `"none"`, "Reply to this in words. In this reply no tool can be called.", []reply{says("So: " + paris)}, `"So: ` + strings.ReplaceAll(paris, `"`, `\"`) + `"  stop`},
		{"auto", `"auto"`, "", []reply{says("Four.")}, `"Four."  stop`},
		{"required, and called", `"required"`, "Reply to this with a tool call, not with an answer.", []reply{says(paris)}, `"" get_weather{"city":"Paris"} tool_calls`},
		{"required, and called then", `"required"`, "Reply to this with a tool call, not with an answer.", []reply{says("Four."), says(paris)}, `"Four." get_weather{"city":"Paris"} tool_calls`},
		{"required, and not called", `"required"`, "Reply to this with a tool call, not with an answer.", []reply{says("Four."), says("I said: four.")}, `"Four.\n\nI said: four."  stop`},
		{"named", `{"type":"function","function":{"name":"get_time"}}`, "Reply to this with a call of this tool, not with an answer: get_time", []reply{says(paris), says(`<tool_call>{"tool_name":"get_time","arguments":{}}</tool_call>`)}, `"" get_time{} tool_calls`},
		{"allowed", `{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"get_weather"}}]}}`, "", []reply{says(paris)}, `"" get_weather{"city":"Paris"} tool_calls`},
	} {
		f := &fake{replies: r.replies}
		g := ask(t, f, textcalls.Options{}, question("Weather?", `,"tool_choice":`+r.choice))
		if g.String() != r.want || sentence(f) != r.sentence || len(f.bodies) != len(r.replies) {
			t.Errorf("%s: %s, asked with %q", r.why, g, sentence(f))
		}
		if gjson.Get(f.bodies[0], "messages.0").Raw != described || gjson.Get(f.bodies[0], "tool_choice").Exists() {
			t.Errorf("%s: the description is another, or tool_choice was sent", r.why)
		}
	}
}

func TestOneCallAtMost(t *testing.T) {
	f := &fake{replies: []reply{says(paris + rome)}}
	g := ask(t, f, textcalls.Options{}, question("Weather?", `,"parallel_tool_calls":false`))
	if g.String() != `"" get_weather{"city":"Paris"} tool_calls` || !strings.Contains(f.bodies[0], "one call in a reply at most") || strings.Contains(f.bodies[0], "parallel_tool_calls") {
		t.Error(g, f.bodies[0])
	}
}
