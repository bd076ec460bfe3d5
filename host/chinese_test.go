package host

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/weirhost/weir/sdk/tool"
)

// sentence is English without quotes: three words of small letters.
var (
	sentence = regexp.MustCompile(`\b[a-z]{2,}( [a-z]{2,}){2}`)
	quoted   = regexp.MustCompile("`[^`]*`|\"[^\"]*\"")
)

func wantChinese(t *testing.T, what string, e *tool.Error) {
	t.Helper()
	for _, text := range []string{e.Msg, e.Hint} {
		if english := sentence.FindString(quoted.ReplaceAllString(text, "")); english != "" || text != "" && !hasChinese(text) {
			t.Errorf("%s: %q is not Chinese", what, text)
		}
	}
	if e.Msg == "" {
		t.Errorf("%s: nothing is said", what)
	}
}

// In a Chinese conversation every failure that the host words is Chinese, its
// hint too: one of every code, and every way to ask for a part that is none.
func TestChineseFailures(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	h := open(t, drop(t, "probe"), func(c *Config) {
		c.Now = func() time.Time { return now }
		c.Tools = map[string]ToolConfig{"wait": {Limits: tool.Limits{Timeout: 200e6}}, "long": {Limits: tool.Limits{Archive: tool.ArchiveAlways}}}
		c.Archive.MaxAge = time.Hour
	})
	s := h.Session("me", "c1").In(tool.Zh)
	seen := map[tool.Code]bool{}
	fails := func(name, args string, code tool.Code) {
		t.Helper()
		e := try(t, s, name, args).Err
		if e == nil || e.Code != code {
			t.Errorf("%s(%.80s): %v, want %s", name, args, e, code)
			return
		}
		seen[code] = true
		wantChinese(t, fmt.Sprintf("%s(%.80s)", name, args), e)
	}
	id := call(t, s, "long", `{"Lines":20,"Width":20}`).Ref.UUID
	for _, args := range []string{
		`{"uuid":%q,"lines":"30-40"}`, `{"uuid":%q,"lines":"9-3"}`, `{"uuid":%q,"lines":"two"}`, `{"uuid":%q,"lines":"1-99999999999999999999"}`,
		`{"uuid":%q,"grep":"("}`, `{"uuid":%q,"grep":"[z-a]"}`, `{"uuid":%q,"grep":"a**"}`, `{"uuid":%q,"grep":"(?<x"}`, `{"uuid":%q,"grep":"a{99999}"}`, `{"uuid":%q,"grep":"\\"}`,
		`{"uuid":%q,"grep":["a"]}`, `{"uuid":%q,"grep":"a","lines":"1-2"}`, `{"uuid":%q,"context":2}`, `{"uuid":%q,"pointer":"/a"}`,
		`{"uuid":%q,"offset":99999999}`, `{"uuid":%q,"head":-1}`, `{"uuid":%q,"tail":"ten"}`, `{"uuid":%q,"greb":"a"}`, `{"uuid":%q,"grep":"a","regex":"b"}`,
		`{"uuid":%q,"keep_turns":99}`,
	} {
		fails(tool.LoadHistory, fmt.Sprintf(args, id), tool.BadArgs)
	}
	object := call(t, s, "kept", `{"Text":"x","a":{"b":[1,2],"c":[]},"d":7}`)
	if object.Ref != nil {
		for _, pointer := range []string{"/x", "/a/b/9", "/a/c/0", "/d/e"} {
			fails(tool.LoadHistory, fmt.Sprintf(`{"uuid":%q,"pointer":%q}`, object.Ref.UUID, pointer), tool.BadArgs)
		}
	} else {
		t.Error("no JSON is archived to point into")
	}
	for name, args := range map[string]string{tool.LoadHistory: `{}`, tool.SearchHistory: `{"query":"  "}`, "long": `{"Liens":3}`, "write": `{`} {
		fails(name, args, tool.BadArgs)
	}
	fails(tool.LoadHistory, `[1]`, tool.BadArgs)
	fails(tool.LoadHistory, `{"uuid":"01a1fc2b-ef6c-7d9f-8e1f-b3fbfdefa841"}`, tool.BadArgs)
	fails("write", `{"Text":"@result:01a1fc2b-ef6c-7d9f-8e1f-b3fbfdefa841"}`, tool.BadArgs)
	fails("write", fmt.Sprintf(`{"Text":"@result:%s#/no/json"}`, id), tool.BadArgs)
	fails("lnog", `{}`, tool.UnknownTool)
	fails("blank", `{}`, tool.Failed)
	fails("crash", `{}`, tool.Trapped)
	fails("long", `{"Lines":1,"x":"`+strings.Repeat("x", maxArgs)+`"}`, tool.TooLarge)
	fails("wait", `{"Millis":5000}`, tool.TimedOut)
	for range 2 {
		call(t, s, "rationed", "")
	}
	fails("rationed", `{}`, tool.RateLimited)
	for i := range 3 {
		r, err := s.Call(t.Context(), tool.Call{Tool: tool.LoadHistory, Args: json.RawMessage(fmt.Sprintf(`{"uuid":%q}`, id)), Turn: 3})
		if err != nil {
			t.Fatal(err)
		}
		if i == 2 && r.Err != nil {
			seen[r.Err.Code] = r.Err.Code == tool.Denied
			wantChinese(t, "the third load", r.Err)
		}
	}
	now = now.Add(2 * time.Hour)
	if _, err := h.Archive().Prune(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	fails(tool.LoadHistory, fmt.Sprintf(`{"uuid":%q}`, id), tool.Expired)
	// Package worker tests that every sentence of the sandbox has its Chinese.
	for _, code := range []tool.Code{tool.UnknownTool, tool.BadArgs, tool.Failed, tool.TimedOut, tool.Trapped, tool.TooLarge, tool.Denied, tool.RateLimited, tool.Expired} {
		if !seen[code] {
			t.Errorf("no failure with code %s was seen", code)
		}
	}
}
