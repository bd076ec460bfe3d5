package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// The entries of [mcpServers] start programs and send keys, so they need explicit
// trust: a tools.toml in the current folder may come from a download, or from a tool.
// A person trusts it with `weir config trust`.

// TrustedServers returns the servers that may be started, and the names of those that
// a person must trust first.
func (s Settings) TrustedServers(o Source, p Paths) (start []plugin.Server, held []string) {
	all := s.HostServers(p)
	if len(all) == 0 || !o.found(p) {
		return all, nil
	}
	trusted := strings.Fields(p.Trusted()[p.Config])
	for _, one := range all {
		if slices.Contains(trusted, serverDigest(one.Name, s.Servers[one.Name])) {
			start = append(start, one)
		} else {
			held = append(held, one.Name)
		}
	}
	return start, held
}

// Untrusted returns the warning for servers that are not started.
func Untrusted(names []string, p Paths) tool.Text {
	return tool.Textf("the MCP servers %s of %s are not started: any program may have written a file in this folder; read it, then run: weir config trust", strings.Join(names, ", "), p.Config)
}

// found reports whether the configuration was found in the current folder, without a
// flag that names it.
func (o Source) found(p Paths) bool {
	here, err := os.Getwd()
	return o.Config == "" && (err != nil || filepath.Dir(p.Config) == here)
}

// serverDigest returns a digest of the program or the address of a server. Values of
// variables are left out: they change without the file.
func serverDigest(name string, e ServerEntry) string {
	text, err := json.Marshal([]any{name, e.Command, e.Args, e.Dir, e.URL, slices.Sorted(maps.Keys(e.Env)), slices.Sorted(maps.Keys(e.Headers))})
	if err != nil {
		return "" // strings always have a JSON form
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func (p Paths) TrustFile() string { return filepath.Join(p.Data, "trusted.json") }

// Trusted returns the digests of the servers that a person trusts, with spaces between them, by
// the path of the configuration file. A file of digests that cannot be read counts as empty.
func (p Paths) Trusted() map[string]string {
	out := map[string]string{}
	if b, err := os.ReadFile(p.TrustFile()); err == nil && json.Unmarshal(b, &out) != nil || out == nil {
		return map[string]string{}
	}
	return out
}

// ServerLine returns the address of a server, or the command line that starts it.
func ServerLine(s plugin.Server) string {
	if s.URL != "" {
		return limit.Visible(s.URL)
	}
	return limit.Visible(strings.Join(append([]string{s.Command}, s.Args...), " "))
}

// Trust stores that a person trusts servers of s in the configuration of p, by name. What was
// trusted and is in s stays trusted.
func (p Paths) Trust(s Settings, names ...string) error {
	known := p.Trusted()
	before, now := strings.Fields(known[p.Config]), []string(nil)
	for _, name := range slices.Sorted(maps.Keys(s.Servers)) {
		if d := serverDigest(name, s.Servers[name]); slices.Contains(names, name) || slices.Contains(before, d) {
			now = append(now, d)
		}
	}
	known[p.Config] = strings.Join(now, " ")
	b, err := json.MarshalIndent(known, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(p.Data, 0o700); err != nil {
		return msg.Usagef("give another folder with --data", "the data folder %s cannot be made", p.Data)
	}
	if err := os.WriteFile(p.TrustFile(), b, 0o600); err != nil {
		return msg.Usagef("check its permissions", "%s cannot be written", p.TrustFile())
	}
	return nil
}
