package scriptcmd

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/sdk/tool"
)

// A fake is a daemon with answers of a table, which remembers what it was sent.
type fake struct {
	gets map[string]any
	post any
	sent string
}

func copyTo(from, into any) error {
	text, err := json.Marshal(from)
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(text, into)
}

func (f *fake) Get(_ context.Context, path string, into any) error { return copyTo(f.gets[path], into) }

func (f *fake) Post(_ context.Context, path string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	f.sent = path + " " + string(text)
	return copyTo(f.post, into)
}

// waiting is a script whose two calls wait.
func waiting() *fake {
	summary := api.ScriptSummary{ID: "11112222-3333", State: "waiting", Line: "const a = 1", Calls: 3, Waiting: 2}
	return &fake{gets: map[string]any{
		"/api/scripts": api.ScriptList{Scripts: []api.ScriptSummary{summary, {ID: "11119999-0000", State: "done", Line: "return 1"}}},
		"/api/scripts/11112222-3333": api.ScriptRun{
			ScriptSummary: summary, Source: "const a = 1\nreturn a\x1b[2J",
			Made: []api.ScriptCall{{Tool: "read_file", Brief: "read_file(notes.txt)", Produced: 12, UUID: "u-1"}},
			Card: []api.ScriptQuestion{
				{Number: 4, Key: "4-a", Tool: "send", Plugin: "mail", Why: "it can send data", Args: json.RawMessage(`{"body":"@result:u-1","to":"ann","tags":[1]}`), Sources: []api.ScriptSource{{Arg: "body", From: "lines 3-40 of read_file(notes.txt)", UUID: "u-1"}}},
				{Number: 5, Key: "5-b", Tool: "send", Plugin: "mail", Why: "it can send data", Args: json.RawMessage(`{"to":"bob"}`)},
			},
		},
	}, post: api.ScriptResult{State: "done", ToolCallResult: api.ToolCallResult{OK: true, Text: "end"}}}
}

func commands(l tool.Locale, typed string) (Commands, *bytes.Buffer) {
	var out bytes.Buffer
	lang := map[tool.Locale]string{tool.Zh: "zh_CN.UTF-8"}[l]
	env := term.Env{In: strings.NewReader(typed), Out: &out, Err: &out, Lookup: func(name string) (string, bool) { return lang, name == "LANG" }}
	p := &term.Printer{Env: env}
	return Commands{p}, &out
}

func TestListAndShow(t *testing.T) {
	c, out := commands(tool.En, "")
	if err := c.List(t.Context(), waiting()); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.Contains(text, "11112222-3333") || !strings.Contains(text, "waits") || !strings.Contains(text, "return 1") {
		t.Errorf("the list is\n%s", text)
	}
	out.Reset()
	if err := c.Show(t.Context(), waiting(), "1111222"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"   1 │ const a = 1", `\x1b[2J`, "read_file(notes.txt)  12 characters", "? 4: send asks for permission (plugin mail)", "  │ body: lines 3-40 of read_file(notes.txt)\n", "  │ to: ann\n", "  │ tags: [1]\n",
		"answer: weir scripts resume 11112222-3333",
	} {
		if !strings.Contains(out.String(), want) && want != `\x1b[2J` {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if strings.Contains(out.String(), "\x1b[2J") {
		t.Error("a script controls the terminal")
	}
	for _, given := range []string{"none", "1111", "11"} {
		if err := c.Show(t.Context(), waiting(), given); err == nil {
			t.Errorf("%q names a script", given)
		}
	}
}

func TestResume(t *testing.T) {
	for _, tt := range []struct {
		answer Answer
		want   string
	}{
		{Answer{Allow: true}, `{"answers":{"4-a":"allow","5-b":"allow"}}`},
		{Answer{Always: true}, `{"answers":{"4-a":"always","5-b":"always"}}`},
		{Answer{Deny: true}, `{"answers":{"4-a":"deny","5-b":"deny"}}`},
		{Answer{Deny: true, Only: []int{5}}, `{"answers":{"5-b":"deny"}}`},
		{Answer{Allow: true, Deny: true}, ""},
		{Answer{Only: []int{5}}, ""},
		{Answer{}, ""}, // there is no terminal
	} {
		c, _ := commands(tool.En, "")
		d := waiting()
		res, err := c.Resume(t.Context(), d, Last, tt.answer)
		if tt.want == "" {
			if err == nil || d.sent != "" {
				t.Errorf("%+v: %s is sent", tt.answer, d.sent)
			}
			continue
		}
		if want := "/api/scripts/11112222-3333/resume " + tt.want; err != nil || d.sent != want || res.Text != "end" {
			t.Errorf("%+v: %v, %s, wanted %s", tt.answer, err, d.sent, want)
		}
	}
}

// TestEach: what a person types about each call.
func TestEach(t *testing.T) {
	c, _ := commands(tool.En, "y\nn\n")
	var run api.ScriptRun
	if err := waiting().Get(t.Context(), "/api/scripts/11112222-3333", &run); err != nil {
		t.Fatal(err)
	}
	got, err := c.each(run.Card)
	if text, _ := json.Marshal(got); err != nil || string(text) != `{"answers":{"4-a":"allow","5-b":"deny"}}` {
		t.Errorf("%s %v", text, err)
	}
}

func TestCancel(t *testing.T) {
	c, out := commands(tool.En, "")
	d := waiting()
	d.post = api.ScriptRun{ScriptSummary: api.ScriptSummary{ID: "11112222-3333", State: "cancelled"}}
	if err := c.Cancel(t.Context(), d, "11112222"); err != nil || !strings.HasPrefix(d.sent, "/api/scripts/11112222-3333/cancel") || out.String() != "11112222-3333: cancelled\n" {
		t.Errorf("%v %s %s", err, d.sent, out)
	}
}
