package app

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/provider"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/sdk/tool"
)

// TestTheTestOfAModelTriesAScript: a model writes scripts if one of its scripts called the
// tool and its answer uses the result. What was seen is kept for the model.
func TestTheTestOfAModelTriesAScript(t *testing.T) {
	good := "const places = ['north', 'south', 'east', 'west'];\nconst all = await Promise.all(places.map((place) => tools.river_level({place})));\nreturn places.map((p, i) => p + ' ' + all[i]).join(', ')"
	for name, tt := range map[string]struct {
		codes []string
		want  bool
	}{
		"at once":          {[]string{good}, true},
		"after an error":   {[]string{"return await tools.river({})", good}, true},
		"without a script": {nil, false},
		"one place":        {[]string{"return String(await tools.river_level({place: 'east'}))"}, false},
	} {
		m := replay.Func(func(n int, r agent.Request) replay.Reply {
			last := r.Messages[len(r.Messages)-1].Text
			switch {
			case n == 0:
				return replay.Text("ready")
			case n == 1:
				return replay.Reply{Calls: []tool.Call{{ID: "c", Tool: "river_level", Args: json.RawMessage(`{"place":"weir"}`)}}}
			case n-2 < len(tt.codes):
				args, _ := json.Marshal(map[string]string{"code": tt.codes[n-2]})
				return replay.Reply{Calls: []tool.Call{{ID: "c", Tool: tool.RunScript, Args: args}}}
			}
			return replay.Text("The east: " + last)
		}).Describing(agent.ModelInfo{Name: "m", Window: 32768})
		try, end := TryScripts(guesttest.Cache(t), "")
		r := TestModel(t.Context(), m, try(provider.TestOptions{}))
		end()
		if r.Scripts == nil || *r.Scripts != tt.want || !r.OK {
			t.Errorf("%s: %+v", name, r)
			continue
		}
		p, s := config.Paths{Data: filepath.Join(t.TempDir(), "data")}, config.ModelSettings{Provider: "ark", Model: name}
		KeepTested(p, s, r)
		if writes, known := scriptVerdicts(p).find(verdictKey(s)); writes != tt.want || !known {
			t.Errorf("%s: kept is %v %v", name, writes, known)
		}
		if step := r.Steps[len(r.Steps)-1]; step.Name != provider.StepScript || !strings.Contains(step.Msg.String(), "script") {
			t.Errorf("%s: %+v", name, step)
		}
	}
}
