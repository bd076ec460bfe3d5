package config

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/weirhost/weir/host/daemon"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/tool"
)

// MCPTools says which tools the list of MCP clients has: auto, all or search; or it names
// the tools that they see, in a list for which auto holds.
type MCPTools struct {
	Listing string
	Names   []string
}

// listings are the values of a listing; empty: not set.
var listings = []string{"", "auto", "all", "search"}

// UnmarshalTOML accepts a listing as well as a list of names.
func (m *MCPTools) UnmarshalTOML(v any) error {
	word, ok := v.(string)
	*m = MCPTools{Listing: word}
	if list, isList := v.([]any); isList {
		ok, m.Names = true, []string{}
		for _, e := range list {
			name, isText := e.(string)
			m.Names, ok = append(m.Names, name), ok && isText
		}
	}
	if !ok || !slices.Contains(listings, word) {
		return msg.Errorf("tools is \"auto\", \"all\", \"search\", or a list of names")
	}
	return nil
}

// MarshalJSON returns the form that tools.toml has.
func (m MCPTools) MarshalJSON() ([]byte, error) {
	if m.Names != nil {
		return json.Marshal(m.Names)
	}
	return json.Marshal(m.Listing)
}

// MCPServer returns what the daemon offers MCP clients, in the language l.
func (s Settings) MCPServer(l tool.Locale) daemon.MCP {
	m := s.MCP
	return daemon.MCP{
		Tools: m.Tools.Names, Deny: m.DenyTools, Listing: daemon.Listing(m.Tools.Listing), ToolsChars: s.Prompt.ToolsChars,
		MaxSessions: m.MaxSessions, MaxUserSessions: m.PerUser, Idle: time.Duration(m.SessionIdle), StructuredBytes: int(m.StructuredBytes), Locale: l,
	}
}

// checkListings reports users whose listing is invalid.
func checkListings(s *Settings, bad report) {
	for name, u := range s.Users {
		if !slices.Contains(listings, u.MCPTools) {
			bad(tool.Textf("mcp_tools is %q", u.MCPTools), tool.Textf("use one of: auto, all, search"), "users", name, "mcp_tools")
		}
	}
}
