package provider

import (
	"errors"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/sdk/tool"
)

func TestNative(t *testing.T) {
	fail := func(c agent.ModelCode) replay.Reply {
		return replay.Reply{Err: &agent.ModelError{Code: c, Msg: "no"}}
	}
	for _, c := range []struct {
		name         string
		reply        replay.Reply
		works, known bool
	}{
		{"it calls", replay.Reply{Calls: []tool.Call{{ID: "1", Tool: "river_level", Args: []byte(`{"place":"weir"}`)}}}, true, true},
		{"it answers in words", replay.Text("I do not know."), false, true},
		{"it calls something else", replay.Reply{Calls: []tool.Call{{ID: "1", Tool: "other", Args: []byte(`{}`)}}}, false, true},
		{"it calls with broken arguments", replay.Reply{Calls: []tool.Call{{ID: "1", Tool: "river_level", Args: []byte(`{"place":`)}}}, false, true},
		{"it refuses tools", fail(agent.ModelBadRequest), false, true},
		{"it stumbles over tools", fail(agent.ModelGarbage), false, true},
		{"it cannot be reached", fail(agent.ModelUnreachable), false, false},
		{"the key is wrong", fail(agent.ModelAuth), false, false},
		{"it is overloaded", fail(agent.ModelOverloaded), false, false},
		{"something else", replay.Reply{Err: errors.New("odd")}, false, false},
	} {
		works, known := Native(t.Context(), replay.New(c.reply), tool.En)
		if works != c.works || known != c.known {
			t.Errorf("%s: works %v, known %v", c.name, works, known)
		}
	}
}
