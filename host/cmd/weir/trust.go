package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/sdk/limit"
)

// What a tools.toml says of other servers starts programs and sends keys away.
// That of the folder a command happens to be started in may be anybody's: it
// came with a download, or a tool wrote it. It counts once a person has said so.

// trustedServers are the servers that may be started, and the names of those
// that may not before a person has looked at them.
func (c *cli) trustedServers(s Settings, p paths) (start []host.Server, held []string) {
	all := servers(s, p)
	if len(all) == 0 || !c.found(p) || p.trusted()[p.Config] == serversDigest(s) {
		return all, nil
	}
	for _, one := range all {
		held = append(held, one.Name)
	}
	return nil, held
}

// untrusted says why servers are not started.
func untrusted(held []string, p paths) string {
	return fmt.Sprintf("the MCP servers %s of %s are not started: the file lay in this folder and may be anybody's; look at it, then run: weir config trust", strings.Join(held, ", "), p.Config)
}

// found reports whether the configuration was not named by anybody, but lay in
// the folder where weir was started.
func (c *cli) found(p paths) bool {
	here, err := os.Getwd()
	return c.config == "" && (err != nil || filepath.Dir(p.Config) == here)
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

func (p paths) trustFile() string { return filepath.Join(p.Data, "trusted.json") }

// trusted are the digests that a person has agreed to, by the path of the
// file. What cannot be read is agreed to by nobody.
func (p paths) trusted() map[string]string {
	out := map[string]string{}
	if b, err := os.ReadFile(p.trustFile()); err == nil && json.Unmarshal(b, &out) != nil || out == nil {
		return map[string]string{}
	}
	return out
}

// trustCmd lets the servers of this folder's configuration be started.
func (c *cli) trustCmd() *cobra.Command {
	return &cobra.Command{
		Use: "trust", Short: "Let the MCP servers that this folder's tools.toml names be started", Args: argCount(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			p, err := c.findPaths()
			if err != nil {
				return err
			}
			s, _, err := c.settings(p)
			if err != nil {
				return err
			}
			list := servers(s, p)
			if len(list) == 0 {
				c.outf("no MCP servers are named; there is nothing to trust\n")
				return nil
			}
			known := p.trusted()
			known[p.Config] = serversDigest(s)
			b, err := json.MarshalIndent(known, "", "  ")
			if err != nil {
				return err
			}
			if err := os.MkdirAll(p.Data, 0o700); err != nil {
				return usagef("give another folder with --data", "the data folder %s cannot be made", p.Data)
			}
			if err := os.WriteFile(p.trustFile(), b, 0o600); err != nil {
				return usagef("check its permissions", "%s cannot be written", p.trustFile())
			}
			for _, one := range list {
				c.outf("%s may be started: %s\n", one.Name, serverLine(one))
			}
			return nil
		},
	}
}

// serverLine is what a server comes to, for a person.
func serverLine(s host.Server) string {
	if s.URL != "" {
		return limit.Visible(s.URL)
	}
	return limit.Visible(strings.Join(append([]string{s.Command}, s.Args...), " "))
}
