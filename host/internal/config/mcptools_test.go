package config

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/weirhost/weir/host/daemon"
	"github.com/weirhost/weir/sdk/tool"
)

// The list of MCP clients is a word, or the names of the tools that they may use.
func TestMCPTools(t *testing.T) {
	for _, c := range []struct {
		text, listing, names, shown string
		bad                         bool
	}{
		{text: "", shown: `""`}, {text: `tools = "auto"`, listing: "auto", shown: `"auto"`}, {text: `tools = "search"`, listing: "search", shown: `"search"`},
		{text: `tools = ["a", "b"]`, names: "a,b", shown: `["a","b"]`}, {text: `tools = []`, shown: `[]`},
		{text: `tools = "some"`, bad: true}, {text: `tools = [1]`, bad: true}, {text: `tools = 1`, bad: true},
	} {
		s, faults := Parse("tools.toml", "[prompt]\npinned_tools = ['p']\ntools_chars = 5000\n[mcp]\n"+c.text+"\n")
		if c.bad {
			if len(faults) == 0 {
				t.Errorf("%s is accepted", c.text)
			}
			continue
		}
		m := s.MCPServer(tool.En)
		shown, err := json.Marshal(s.MCP.Tools)
		if len(faults) > 0 || err != nil || m.Listing != daemon.Listing(c.listing) || strings.Join(m.Tools, ",") != c.names || string(shown) != c.shown || m.ToolsChars != 5000 {
			t.Errorf("%s: %v, %+v, %s, %v", c.text, faults, m, shown, err)
		}
	}
	for value, bad := range map[string]bool{"search": false, "all": false, "none": true} {
		s, faults := Parse("tools.toml", "[users.ann]\ntoken_sha256 = \""+strings.Repeat("0", 64)+"\"\nmcp_tools = \""+value+"\"\n")
		if (len(faults) > 0) != bad || !bad && s.DaemonUsers()["ann"].Listing != value {
			t.Errorf("mcp_tools = %q: %v", value, faults)
		}
	}
}
