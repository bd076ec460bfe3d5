package config

import (
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weirhost/weir/host/internal/serverjson"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// ServerEntry is another MCP server, in the form that other MCP clients use.
type ServerEntry struct {
	Command  string            `toml:"command" json:"command,omitempty"`
	Args     []string          `toml:"args" json:"args,omitempty"`
	Env      map[string]string `toml:"env" json:"env,omitempty"`
	Dir      string            `toml:"cwd" json:"cwd,omitempty"`
	URL      string            `toml:"url" json:"url,omitempty"`
	Headers  map[string]string `toml:"headers" json:"headers,omitempty"`
	Type     string            `toml:"type" json:"type,omitempty"`
	Allow    []string          `toml:"allow" json:"allow,omitempty"`
	Deny     []string          `toml:"deny" json:"deny,omitempty"`
	Trust    bool              `toml:"trust_hints" json:"trust_hints,omitempty"`
	Start    Duration          `toml:"start_timeout" json:"start_timeout,omitempty"`
	Timeout  Duration          `toml:"timeout" json:"timeout,omitempty"`
	Parallel int               `toml:"parallel" json:"parallel,omitempty"`
	Disabled bool              `toml:"disabled" json:"disabled,omitempty"`

	written []string // Args with references to variables, for display
}

// serverName matches the name of a server. Its tools are <name>__<tool>, which must be
// a valid name of a tool.
var serverName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9_-]{0,29}$`) })

// checkServers reports invalid entries.
func checkServers(servers map[string]ServerEntry, bad report) {
	for name, s := range servers {
		if !serverName().MatchString(name) {
			fix := tool.Textf("use up to 30 of a-z, 0-9, _ and -, a letter first")
			if like := serverjson.Name(name); like != "" {
				fix = tool.Textf("%v: %s", fix, like)
			}
			bad(tool.Textf("%q is no name for a server", name), fix, "mcpServers", name)
		}
		switch {
		case s.Command == "" && s.URL == "":
			bad(tool.Textf("the server %s has neither command nor url", name), tool.Textf(`write command = "…" and args = […], or url = "https://…"`), "mcpServers", name)
		case s.Command != "" && s.URL != "":
			bad(tool.Textf("the server %s has both command and url", name), tool.Textf("keep one of the two"), "mcpServers", name, "url")
		case s.Type == "sse":
			bad(tool.Textf("the server %s uses the old transport \"sse\"", name), tool.Textf(`give the address of its streamable HTTP endpoint; type can be left out`), "mcpServers", name, "type")
		}
		for key, patterns := range map[string][]string{"allow": s.Allow, "deny": s.Deny} {
			for _, p := range patterns {
				if _, err := path.Match(p, ""); err != nil {
					bad(tool.Textf("%q is no pattern", p), tool.Textf("use * for any letters, or the tool's whole name"), "mcpServers", name, key)
				}
			}
		}
	}
}

// HostServers returns the servers that are not disabled, by name. Their folders are
// relative to the folder of the configuration.
func (s Settings) HostServers(p Paths) []plugin.Server {
	var out []plugin.Server
	for _, name := range slices.Sorted(maps.Keys(s.Servers)) {
		e := s.Servers[name]
		if e.Disabled {
			continue
		}
		if e.Command != "" {
			if e.Dir == "" || !filepath.IsAbs(e.Dir) {
				e.Dir = filepath.Join(filepath.Dir(p.Config), e.Dir)
			}
			if strings.HasPrefix(e.Command, ".") {
				e.Command = filepath.Join(e.Dir, e.Command)
			}
		}
		out = append(out, plugin.Server{
			Name: name, Command: e.Command, Args: e.Args, Env: e.Env, Dir: e.Dir, URL: e.URL, Headers: e.Headers,
			Allow: e.Allow, Deny: e.Deny, TrustHints: e.Trust, Start: time.Duration(e.Start), Timeout: time.Duration(e.Timeout), Parallel: e.Parallel,
			Variables: s.used[name], Unset: s.unsetOf(name),
		})
	}
	return out
}
