package app

import (
	"errors"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent/model/provider"
	"github.com/weirhost/weir/host/daemon/api"
)

// A model that was found is written with the name of its key's variable, all comments stay,
// and it is in force at once; its address and key are those that were found.
func TestAddModel(t *testing.T) {
	p := openPatched(t, someTools)
	local := provider.Found{Preset: "ollama", BaseURL: "http://127.0.0.1:11999/v1"}
	out, err := p.AddModel(t.Context(), local, api.ModelAdd{Model: "qwen3:8b", Name: "mine", DryRun: true})
	if err != nil || out.Written || !strings.Contains(out.Diff, "+[models.mine]") || p.text() != someTools {
		t.Fatalf("a dry run: %+v, %v", out, err)
	}
	out, err = p.AddModel(t.Context(), local, api.ModelAdd{Model: "qwen3:8b", Name: "mine", Window: 8192, Default: true})
	if err != nil || !out.Written {
		t.Fatalf("%+v, %v", out, err)
	}
	for _, line := range []string{"# mine, with a note", "max_lines = 400   # enough", "[models.mine]", `provider = "ollama"`, `model = "qwen3:8b"`, `base_url = "http://127.0.0.1:11999/v1"`, "window = 8192", `model = "mine"`} {
		if !strings.Contains(p.text(), line) {
			t.Errorf("no %s in\n%s", line, p.text())
		}
	}
	keyed := provider.Found{Preset: "openai", BaseURL: "https://api.openai.com/v1", KeyEnv: "OPENAI_API_KEY"}
	if out, err = p.AddModel(t.Context(), keyed, api.ModelAdd{Model: "gpt-x"}); err != nil || !strings.Contains(p.text(), `key = "${OPENAI_API_KEY}"`) || strings.Contains(p.text(), "api.openai.com") || !strings.Contains(p.text(), `model = "mine"`) {
		t.Errorf("%+v, %v\n%s", out, err, p.text())
	}
	before := p.text()
	for code, body := range map[string]api.ModelAdd{"exists": {Model: "x", Name: "mine"}, api.CodeBadBody: {Model: "${SECRET_KEY}", Name: "new"}} {
		_, err := p.AddModel(t.Context(), local, body)
		if problem, ok := errors.AsType[*api.Problem](err); !ok || problem.Code != code {
			t.Errorf("%+v: %v, want %s", body, err, code)
		}
	}
	if _, err := p.AddModel(t.Context(), local, api.ModelAdd{Model: "x", Name: "hidden\u202e"}); err == nil || p.text() != before {
		t.Errorf("%v\n%s", err, p.text())
	}
}
