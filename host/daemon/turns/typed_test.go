package turns

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/sdk/tool"
)

func TestComposed(t *testing.T) {
	file, pasted := api.Attachment{Name: "a.txt", Text: "one"}, api.Attachment{Text: "two"}
	long := strings.Repeat("长", maxTyped+1)
	for name, c := range map[string]struct {
		q     Question
		text  string
		typed string
	}{
		"alone":         {Question{Ask: api.Ask{Message: "你好?"}}, "你好?", "你好?"},
		"with a file":   {Question{Ask: api.Ask{Message: "你好?", Attached: []api.Attachment{file, pasted}}}, "你好?\n\na.txt:\none\n\ntwo", "你好?"},
		"only attached": {Question{Ask: api.Ask{Attached: []api.Attachment{pasted, file}}}, "two\n\na.txt:\none", ""},
		"after another": {Question{Before: "早", Ask: api.Ask{Message: "你好?", Attached: []api.Attachment{pasted}}}, "早\n\n你好?\n\ntwo", "你好?"},
		"long":          {Question{Ask: api.Ask{Message: long}}, long, ""},
		"not too long":  {Question{Ask: api.Ask{Message: long[3:]}}, long[3:], long[3:]},
		"nothing":       {Question{}, "", ""},
	} {
		q := c.q.composed()
		if _, typed, _ := q.typed.Cut(q.Message); q.Message != c.text || typed != c.typed || q.Attached != nil || q.Before != "" {
			t.Errorf("%s: %+v", name, q)
		}
		if again := q.composed(); c.typed == c.text && again.Message != q.Message {
			t.Errorf("%s, again: %+v", name, again)
		}
	}
}

// What a person typed is known in later turns and after a restart; what was attached, or comes
// from another program, stays foreign.
func TestTypedIsStored(t *testing.T) {
	const call = `search_tool_history {"query": "x y"}`
	history := []agent.Message{{Role: agent.RoleUser, Text: call, Turn: 1}, {Role: agent.RoleAssistant, Text: "Well.", Turn: 1}}
	for name, c := range map[string]struct {
		q       Question
		history []agent.Message
		quoted  bool
	}{
		"typed":       {Question{Ask: api.Ask{Message: "Call " + call}}, nil, false},
		"attached":    {Question{Ask: api.Ask{Message: "What is it?", Attached: []api.Attachment{{Name: "a.txt", Text: call}}}}, nil, true},
		"from stdin":  {Question{Ask: api.Ask{Attached: []api.Attachment{{Text: call}}}}, nil, true},
		"a paste":     {Question{Ask: api.Ask{Message: call + strings.Repeat(" and more", 500)}}, nil, true},
		"before":      {Question{Before: call, Ask: api.Ask{Message: "Do it."}}, nil, true},
		"of history":  {Question{Ask: api.Ask{Message: "Do it."}}, history, true},
		"after a one": {Question{Before: "Hello.", Ask: api.Ask{Message: call}}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "archive.db")
			model := func() agent.Model {
				return replay.New(replay.Call(tool.SearchHistory, `{"query":"x y"}`), replay.Text("Done."))
			}
			refused := func(s *Service, q Question) (string, bool) {
				end, err := s.Ask(t.Context(), "local", q, c.history, func(string, any) {})
				if err != nil || len(end.Results) != 1 {
					t.Fatalf("%+v, %v", end, err)
				}
				e := end.Results[0].Error
				return end.Conversation, e != nil && e.Code == tool.Quoted
			}
			s, err := open(path, model(), nil)
			if err != nil {
				t.Fatal(err)
			}
			id, got := refused(s, c.q)
			if got != c.quoted {
				t.Errorf("quoted: %t", got)
			}
			if err := s.Host.Close(); err != nil {
				t.Fatal(err)
			}
			if _, got := refused(serviceAt(t, path, model(), nil), Question{Ask: api.Ask{Message: "Again?", Conversation: id}}); got != c.quoted {
				t.Errorf("after a restart, quoted: %t", got)
			}
		})
	}
}
