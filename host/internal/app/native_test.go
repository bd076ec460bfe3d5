package app

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/sdk/tool"
)

func TestNativeCache(t *testing.T) {
	file := filepath.Join(t.TempDir(), "data", "native.json")
	s := config.ModelSettings{Provider: "openai", BaseURL: "http://127.0.0.1:1/v1", Model: "m"}
	call := replay.Reply{Calls: []tool.Call{{ID: "1", Tool: "river_level", Args: []byte(`{"place":"x"}`)}}}
	gone := replay.Reply{Err: &agent.ModelError{Code: agent.ModelUnreachable, Msg: "no"}}

	// A model that cannot be asked is asked again; one that answered is not.
	m := replay.New(gone, call)
	probe := (&nativeCache{file: file}).probe(m, s)
	if _, known := probe(t.Context()); known {
		t.Error("nothing was learnt, yet it is known")
	}
	for range 2 {
		if works, known := probe(t.Context()); !works || !known {
			t.Error("the answer was lost")
		}
	}
	if n := len(m.Requests()); n != 2 {
		t.Errorf("asked %d times", n)
	}
	// Another process knows it too; another model does not.
	if works, known := (&nativeCache{file: file}).probe(replay.New(), s)(t.Context()); !works || !known {
		t.Error("the file does not hold it")
	}
	s.Model = "other"
	if _, known := (&nativeCache{file: file}).probe(replay.New(gone), s)(t.Context()); known {
		t.Error("one model's answer passed for another's")
	}
	// What the provider says is not asked for.
	yes := true
	says := replay.New().Describing(agent.ModelInfo{NativeTools: &yes})
	if works, known := (&nativeCache{file: file}).probe(says, s)(t.Context()); !works || !known || len(says.Requests()) != 0 {
		t.Error("the provider's word should do")
	}
	// A damaged file is as good as none.
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Model = "m"
	if works, known := (&nativeCache{file: file}).probe(replay.New(call), s)(t.Context()); !works || !known {
		t.Error("a damaged file stands in the way")
	}
}
