package config

import (
	"maps"
	"slices"

	"github.com/weirhost/weir/host/daemon"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/tool"
)

// ClientSettings are for the requests of one client program that runs the loop itself.
type ClientSettings struct {
	Keep      *bool `toml:"keep" json:"keep,omitempty"`
	Fold      bool  `toml:"fold" json:"fold,omitempty"`
	WeirTools bool  `toml:"weir_tools" json:"weir_tools,omitempty"`
	// For clients of MCP: which tools their list has, whether a link stands beside a cut
	// result, and whether long structured answers are shortened.
	Tools         string `toml:"tools" json:"tools,omitempty"`
	ResourceLinks bool   `toml:"resource_links" json:"resource_links,omitempty"`
	Structured    string `toml:"structured" json:"structured,omitempty"`
	ResultMeta    *bool  `toml:"result_meta" json:"result_meta,omitempty"`
}

// keeps reports whether messages are stored.
func (c ClientSettings) keeps() bool { return c.Keep == nil || *c.Keep }

// checkClients reports names that no client can have.
func checkClients(s *Settings, bad report) {
	for name, c := range s.Clients {
		if !slices.Contains(listings, c.Tools) {
			bad(tool.Textf("tools is %q", c.Tools), tool.Textf("use one of: auto, all, search"), "clients", name, "tools")
		}
		if !slices.Contains([]string{"", daemon.StructuredWhole, daemon.StructuredShort}, c.Structured) {
			bad(tool.Textf("structured is %q", c.Structured), tool.Textf("use one of: whole, short"), "clients", name, "structured")
		}
		if err := daemon.CheckClientName(name); err != nil {
			bad(msg.Of(err), tool.Textf("write the name in lower case, for example [clients.opencode]"), "clients", name)
		}
	}
}

// lintClients returns the keys of clients that have no effect.
func (s Settings) lintClients() (out []Fault) {
	for _, name := range slices.Sorted(maps.Keys(s.Clients)) {
		if c := s.Clients[name]; c.Fold && !c.keeps() {
			out = append(out, s.positions.fault(tool.Textf("[clients.%s] fold has no effect, because keep is false, and a placeholder leads to what is stored", name),
				tool.Textf("remove keep = false, or fold"), "clients", name, "fold"))
		}
	}
	return out
}

// DaemonClients returns the settings for client programs.
func (s Settings) DaemonClients() map[string]daemon.Client {
	out := map[string]daemon.Client{}
	for name, c := range s.Clients {
		out[name] = daemon.Client{Name: name, Keep: c.keeps(), Fold: c.Fold && c.keeps(), WeirTools: c.WeirTools, Listing: c.Tools, Links: c.ResourceLinks, Structured: c.Structured, Meta: c.ResultMeta}
	}
	return out
}
