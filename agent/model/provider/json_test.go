package provider

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/sdk/tool"
)

// The report is printed for programs: every name in snake_case, every time in
// milliseconds.
func TestReportAsJSON(t *testing.T) {
	yes := true
	for _, row := range []struct {
		why    string
		report any
		want   string
	}{
		{"all there is", Report{
			Info: agent.ModelInfo{Name: "mine", Provider: "ollama", Model: "m", Window: 8192, NativeTools: &yes}, OK: true, NativeTools: &yes, Reply: "ready",
			Steps: []Step{{Name: StepQuestion, OK: true, Elapsed: 1500 * time.Millisecond, FirstToken: 20 * time.Millisecond}},
			Usage: agent.Usage{Prompt: 5, Completion: 1},
		}, `{"info":{"name":"mine","provider":"ollama","model":"m","window":8192,"native_tools":true,"simulated":false},"ok":true,` +
			`"steps":[{"name":"question","ok":true,"elapsed_ms":1500,"first_token_ms":20}],"native_tools":true,"scripts":null,"reply":"ready","usage":{"prompt_tokens":5,"completion_tokens":1}}`},
		{"a step that failed says why", Step{Name: StepDescribe, Code: agent.ModelAuth, Msg: tool.Text{Format: "no"}, Hint: tool.Text{Format: "set X"}},
			`{"name":"describe","ok":false,"code":"` + string(agent.ModelAuth) + `","message":"no","hint":"set X","elapsed_ms":0,"first_token_ms":0}`},
		{"a server that was found", Found{Preset: "ollama", Title: "Ollama", BaseURL: "http://x", Models: []string{"m"}, Command: "c"},
			`{"preset":"ollama","title":"Ollama","base_url":"http://x","models":["m"],"command":"c"}`},
	} {
		if b, err := json.Marshal(row.report); err != nil || string(b) != row.want {
			t.Errorf("%s: %s, %v\nwant %s", row.why, b, err, row.want)
		}
	}
}

// A reference in the configuration is named where its variable is missing; the
// address's own variable still holds.
func TestMissingVariableIsNamed(t *testing.T) {
	const base = "https://api.deepseek.com/v1"
	_, err := New(Config{Name: "m", Provider: "deepseek", Model: "m", KeyEnv: "NOKEY", Getenv: env()}, nil)
	if me, ok := err.(*agent.ModelError); !ok || me.Code != agent.ModelAuth || me.Hint != "set NOKEY in the environment or in .env, or key in [models.m]" {
		t.Errorf("%v", err)
	}
	if _, err := New(Config{Name: "m", Provider: "openai", BaseURL: base, Model: "m", KeyEnv: "NOKEY", Getenv: env("DEEPSEEK_API_KEY", canary)}, nil); err != nil {
		t.Errorf("with the address's own variable: %v", err)
	}
}
