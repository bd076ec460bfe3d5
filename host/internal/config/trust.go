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

// What a tools.toml says of other servers starts programs and sends keys away.
// That of the folder a command happens to be started in may be anybody's: it
// came with a download, or a tool wrote it. It counts once a person has said so.

// TrustedServers are the servers that may be started, and the names of those
// that may not before a person has looked at them.
func (s Settings) TrustedServers(o Source, p Paths) (start []plugin.Server, held []string) {
	all := s.HostServers(p)
	if len(all) == 0 || !o.found(p) || p.Trusted()[p.Config] == serversDigest(s) {
		return all, nil
	}
	for _, one := range all {
		held = append(held, one.Name)
	}
	return nil, held
}

// Untrusted says why servers are not started.
func Untrusted(names []string, p Paths) tool.Text {
	return tool.Textf("the MCP servers %s of %s are not started: any program may have written a file in this folder; read it, then run: weir config trust", strings.Join(names, ", "), p.Config)
}

// found reports whether the configuration was not named by anybody, but lay in
// the folder where weir was started.
func (o Source) found(p Paths) bool {
	here, err := os.Getwd()
	return o.Config == "" && (err != nil || filepath.Dir(p.Config) == here)
}

// serversDigest is a digest of what would be started and reached. Values of
// variables are left out: they change without the file.
func serversDigest(s Settings) string {
	var all []any
	for _, name := range slices.Sorted(maps.Keys(s.Servers)) {
		e := s.Servers[name]
		all = append(all, name, e.Command, e.Args, e.Dir, e.URL, slices.Sorted(maps.Keys(e.Env)), slices.Sorted(maps.Keys(e.Headers)))
	}
	text, err := json.Marshal(all)
	if err != nil {
		return "" // strings always encode
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func (p Paths) TrustFile() string { return filepath.Join(p.Data, "trusted.json") }

// Trusted are the digests that a person has agreed to, by the path of the
// file. What cannot be read is agreed to by nobody.
func (p Paths) Trusted() map[string]string {
	out := map[string]string{}
	if b, err := os.ReadFile(p.TrustFile()); err == nil && json.Unmarshal(b, &out) != nil || out == nil {
		return map[string]string{}
	}
	return out
}

// ServerLine is what a server comes to, for a person.
func ServerLine(s plugin.Server) string {
	if s.URL != "" {
		return limit.Visible(s.URL)
	}
	return limit.Visible(strings.Join(append([]string{s.Command}, s.Args...), " "))
}

// Trust lets the servers that s names be started from the configuration of p.
func (p Paths) Trust(s Settings) error {
	known := p.Trusted()
	known[p.Config] = serversDigest(s)
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
