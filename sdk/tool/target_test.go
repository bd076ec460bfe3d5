package tool_test

import (
	"encoding/json"
	"testing"

	"github.com/weirhost/weir/sdk/tool"
)

func TestTarget(t *testing.T) {
	for _, c := range []struct{ args, name, want string }{
		{`{"name":"f","arguments":{"a":1}}`, "f", `{"a":1}`}, {`{"name":"f"}`, "f", `{}`}, {`{"name":"f","arguments":null}`, "f", `{}`},
		{`{"name":"f","arguments":" {\"a\":1} "}`, "f", `{"a":1}`}, {`{"name":"f","arguments":""}`, "f", `{}`},
		{`{"name":"f","arguments":[1]}`, "", ""}, {`{"name":"f","arguments":"x"}`, "", ""}, {`{"arguments":{}}`, "", ""}, {`{"name":7}`, "", ""}, {``, "", ""}, {`[]`, "", ""},
	} {
		got, ok := tool.Call{ID: "1", Tool: tool.CallTool, Args: json.RawMessage(c.args)}.Target()
		if ok != (c.name != "") || ok && (got.Tool != c.name || string(got.Args) != c.want || got.ID != "1") {
			t.Errorf("%s: %s %s, %v", c.args, got.Tool, got.Args, ok)
		}
	}
}
