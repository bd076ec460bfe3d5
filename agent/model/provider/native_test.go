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
		{"it refuses tools", replay.Reply{Err: &agent.ModelError{Code: agent.ModelBadRequest, Msg: "m does not support tools"}}, false, true},
		{"it refuses something else", fail(agent.ModelBadRequest), false, false},
		{"garbage", fail(agent.ModelGarbage), false, false},
		{"it thinks, and says nothing", replay.Reply{Reasoning: "hm"}, false, false},
		{"it thinks for too long", replay.Reply{Reasoning: "hm", Text: "I", Finish: agent.FinishLength}, false, false},
		{"it cannot be reached", fail(agent.ModelUnreachable), false, false},
		{"the key is wrong", fail(agent.ModelAuth), false, false},
		{"it is overloaded", fail(agent.ModelOverloaded), false, false},
		{"something else", replay.Reply{Err: errors.New("odd")}, false, false},
	} {
		works, known := Native(t.Context(), replay.New(c.reply, c.reply), tool.En)
		if works != c.works || known != c.known {
			t.Errorf("%s: works %v, known %v", c.name, works, known)
		}
	}
}

// A model that answers in words once is asked again: what is found out is kept.
func TestNativeAsksTwice(t *testing.T) {
	m := replay.New(replay.Text("The level is 2 m."), replay.Reply{Calls: []tool.Call{{ID: "1", Tool: "river_level", Args: []byte(`{"place":"weir"}`)}}})
	if works, known := Native(t.Context(), m, tool.En); !works || !known {
		t.Errorf("works %v, known %v", works, known)
	}
}
