package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/usage"
	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/internal/scriptproc"
	"github.com/weirhost/weir/host/internal/scriptvm"
	"github.com/weirhost/weir/host/script"
	"github.com/weirhost/weir/sdk/tool"
)

// scriptsOf returns what runs scripts of a host, with an engine that opens when it is
// needed.
func scriptsOf(t *testing.T, h *host.Host) func(context.Context) (*script.Runner, error) {
	engine := sync.OnceValues(func() (*scriptproc.Engine, error) {
		r, err := scriptproc.Open(context.Background(), scriptproc.Options{VM: scriptvm.Options{CacheDir: guesttest.Cache(t)}})
		if err == nil {
			t.Cleanup(func() { r.Close(context.Background()) })
		}
		return r, err
	})
	return func(context.Context) (*script.Runner, error) {
		r, err := engine()
		return script.New(r, h.Archive(), script.Options{}), err
	}
}

func (s *server) script(token string, body api.ScriptBody) (api.ScriptResult, answer) {
	s.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		s.Fatal(err)
	}
	a := s.as(token, "POST", "/api/scripts", string(text))
	var out api.ScriptResult
	if a.status == 200 {
		if err := json.Unmarshal([]byte(a.body), &out); err != nil {
			s.Fatal(err)
		}
	}
	return out, a
}

// TestScripts: a script over HTTP calls tools as calls of its own, and all of them are in
// the call log.
func TestScripts(t *testing.T) {
	s := newServer(t, replay.Func(func(int, agent.Request) replay.Reply { return replay.Text("ok") }))
	out, a := s.script(testToken, api.ScriptBody{
		Source: "const all = await Promise.all(args.list.map((expression) => tools.calculator({expression}))); return all.map(String).join(';')",
		Args:   json.RawMessage(`{"list": ["1+1", "2*3"]}`),
	})
	if !out.OK || out.Text != "1+1 = 2;2*3 = 6" || len(out.Calls) != 2 || out.Calls[0].Tool != "calculator" {
		t.Fatalf("%d %s", a.status, a.body)
	}
	s.daemon.calls.Flush()
	stats, err := s.daemon.store.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(stats)
	if err != nil || !strings.Contains(string(text), `"run_script"`) || !strings.Contains(string(text), `"calculator"`) {
		t.Errorf("of the calls is logged: %s, %v", text, err)
	}
	if out, _ := s.script(testToken, api.ScriptBody{Source: "return nope", Locale: tool.Zh}); out.OK || !strings.Contains(out.Error.Hint, "请改正脚本第 1 行") {
		t.Errorf("of a mistake it says %+v", out.Error)
	}
}

// TestScriptsOfUsers: a script calls what its user may call, and reads what is theirs.
func TestScriptsOfUsers(t *testing.T) {
	s := newServer(t, replay.Func(func(int, agent.Request) replay.Reply { return replay.Text("ok") }))
	u := ann(usage.Quota{})
	u.Tools = []string{"calculator"}
	s.withUsers(map[string]User{"ann": u})
	kept, _ := s.script(testToken, api.ScriptBody{Source: "return tools.long_text({lines: 200})"})
	if kept.KeptUUID == "" {
		t.Fatalf("%+v", kept)
	}
	for name, source := range map[string]string{
		"a tool that is not theirs":   "return String(await tools.long_text({lines: 2}))",
		"the result of somebody else": fmt.Sprintf("return String(await tools.calculator({expression: '@result:%s'}))", kept.KeptUUID),
	} {
		if out, a := s.script(annToken, api.ScriptBody{Source: source, Allow: true}); a.status != 200 || out.OK {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	if out, a := s.script(annToken, api.ScriptBody{Source: "return ALL_TOOLS.filter((t) => t === 'long_text').length"}); out.Text != "0" {
		t.Errorf("%d %s", a.status, a.body)
	}
	find := api.ScriptBody{Source: "return (await tools.find('a long text of numbered lines', 20)).filter((t) => t === 'long_text').length"}
	for token, found := range map[string]string{testToken: "1", annToken: "0"} {
		if out, a := s.script(token, find); out.Text != found {
			t.Errorf("%s finds %q of the tools: %s", token, out.Text, a.body)
		}
	}
}

func TestScriptsThatCannotBeRead(t *testing.T) {
	s := newServer(t, replay.Func(func(int, agent.Request) replay.Reply { return replay.Text("ok") }))
	for body, status := range map[string]int{
		`{}`: 400, `{"source": 1}`: 400, `{"source": "return 1", "arguments": [1]}`: 400, `{"source": "return 1", "arguments": "x"}`: 400,
		`{"source": "return 1", "arguments": null}`: 200, `{"source": "return 1", "conversation_id": "a\nb"}`: 400,
		`{"source": "` + strings.Repeat("x", 5<<20) + `"}`: 413, `{"source": "` + strings.Repeat("/", 300<<10) + `"}`: 200,
	} {
		if a := s.post("/api/scripts", body); a.status != status {
			t.Errorf("%.60s: %d %.200s, wanted %d", body, a.status, a.body, status)
		}
	}
}
