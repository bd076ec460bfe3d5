package daemon

import (
	"net/http"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host/daemon/api"
)

// A model that says nothing fails its turn in every protocol, in the language of the client.
func TestNoAnswer(t *testing.T) {
	s := newServer(t, replay.Func(func(int, agent.Request) replay.Reply { return replay.Text("") }))
	for _, resume := range []string{"", `,"resume":true`} {
		a := s.do("POST", "/api/chat", `{"message":"What?"`+resume+`}`, func(r *http.Request) { r.Header.Set("Accept-Language", "zh-CN") })
		es := events(a.body)
		told, end := last[map[string]any](t, es, api.EventError), last[struct {
			Reason agent.Reason
			Answer string
			Error  map[string]any
		}](t, es, api.EventEnd)
		if told["code"] != "no_answer" || !strings.Contains(told["message"].(string), "模型") || end.Reason != agent.ReasonNoAnswer || end.Error["code"] != "no_answer" || end.Error["message"] != told["message"] {
			t.Errorf("%v, %+v", told, end)
		}
	}
	a := s.post("/v1/chat/completions", `{"model":"weir","messages":[{"role":"user","content":"What?"}]}`)
	if a.status != http.StatusBadRequest || a.code(t) != "no_answer" || a.header.Get("X-Weir-Conversation") == "" {
		t.Errorf("%d %v %s", a.status, a.header, a.body)
	}
	a = s.post("/v1/chat/completions", `{"model":"weir","stream":true,"messages":[{"role":"user","content":"What?"}]}`)
	if strings.Contains(a.body, "finish_reason\":\"stop") || !strings.Contains(a.body, "no_answer") {
		t.Error(a.body)
	}
}
