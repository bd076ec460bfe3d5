package hostile

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/internal/testsize"
	"github.com/weirhost/weir/sdk/tool"
)

// A guest that may write in a folder with hidden files, and with links that a person
// made, tries every operation on every path while other calls of it exchange the links
// for its own files and folders. It reads nothing hidden, learns no length of it, and
// leaves what is hidden and what is outside as it was.
func TestAnIntruderInAWritableFolder(t *testing.T) {
	wasm := filepath.Join(t.TempDir(), "intruder.wasm")
	guesttest.Build(t, filepath.Join(guesttest.Root(t), "host", "testdata", "plugins", "intruder"), wasm)
	code, err := os.ReadFile(wasm)
	if err != nil {
		t.Fatal(err)
	}
	rounds := testsize.Of(3, 8)
	if thorough {
		rounds = 60
	}
	for _, isolation := range []host.Isolation{host.OwnProcess, host.Inline} {
		t.Run(string(isolation), func(t *testing.T) {
			inlineToo(t, isolation)
			top := t.TempDir()
			in := func(name string) string { return filepath.Join(top, "work", name) }
			secret := strings.Repeat("SECRET ", 700)[:4321]
			for name, text := range map[string]string{
				"mine/key": "mine", "plain": "plain", "data/token": secret, "data/deep/er/archive.db": secret,
				"conf/tools.toml": secret, ".env": secret, "../outside/secret": secret,
			} {
				if err := os.MkdirAll(filepath.Dir(in(name)), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(in(name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			links := map[string]string{
				"to_data": "data", "to_token": "data/token", "to_new": "data/new", "to_lock": "weir.lock", "to_env": ".env",
				"to_config": "conf/tools.toml", "to_missing_config": "mine/tools.toml", "up": "../outside", "up_file": "../outside/secret",
				"absolute": filepath.Join(top, "outside"), "self": "/proc/self", "environ": "/proc/self/environ", "proc_root": "/proc/self/root",
				"descriptors": "/proc/self/fd", "loop": "loop", "chain": "to_chain", "to_chain": "to_data", "dots": "mine/../data/../data/token",
			}
			for link, to := range links {
				if err := os.Symlink(to, in(link)); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Link(in("data/token"), in("hard")); err != nil {
				t.Fatal(err)
			}
			deep := strings.Repeat("d/", 100)
			if err := os.MkdirAll(in(deep), 0o700); err != nil {
				t.Fatal(err)
			}
			paths := []string{
				"door", "door/token", "door/new", "door/deep/er/archive.db", "door/../data/token", "data", "data/token", "data/new", "data/deep", "hard", "weir.lock", ".env", "DATA/token",
				"mine/tools.toml", "../outside/secret", "mine/../../outside/secret", "/proc/self/environ", "/etc/passwd", "/w/../outside/secret", "./././data//token/", "data/token/.",
				strings.Repeat("n", 255), strings.Repeat("n", 256), strings.Repeat("x/", 2500), deep + strings.Repeat("../", 99) + "../data/token", strings.Repeat("../", 50) + "etc/passwd",
				"self/environ", "proc_root/etc/passwd", "descriptors/0", "up/secret", "absolute/secret", "chain/token",
			}
			var pairs []string
			for link := range links {
				paths, pairs = append(paths, link), append(pairs, link, "mine", "plain")
			}
			dir := t.TempDir()
			dropIn(t, dir, dropped{
				name: "intruder", wasm: code, tools: []string{"exchange", "intrude"}, timeout: 5 * time.Minute, memory: "128MiB", writes: true,
				asks: `paths = [{ guest = "/w", mode = "rw", reason = "writes" }]`, more: "format = \"mcp\"\n[tool.params.properties]\nrounds = { type = \"integer\" }\npairs = { type = \"array\", items = { type = \"string\" } }\npaths = { type = \"array\", items = { type = \"string\" } }",
			})
			h := open(t, dir, isolation, func(c *host.Config) {
				c.Approvals = approval.Policy{Default: approval.Allow}
				c.Grants = map[string]plugin.Grant{"intruder": {Paths: []plugin.PathGrant{{Guest: "/w", Host: in("."), Mode: "rw"}}}}
				c.Hidden = []string{in("data"), in("data/token"), in(".env"), in("weir.lock"), in("conf")}
				c.ReadOnly = []string{"tools.toml", in("conf/tools.toml")}
			})
			before := guarded(t, top)
			args := func(rounds int) string {
				raw, err := json.Marshal(map[string]any{"rounds": rounds, "pairs": pairs, "paths": paths})
				if err != nil {
					t.Fatal(err)
				}
				return string(raw)
			}
			var both sync.WaitGroup
			for range 2 {
				both.Go(func() {
					if r, _ := ask(t, h, tool.En, "intruder_exchange", args(rounds*20)); r.Err != nil || r.Shown.Text != "moved" {
						t.Errorf("exchange: %v, %s", r.Err, r.Shown.Text)
					}
				})
			}
			r, _ := ask(t, h, tool.En, "intruder_intrude", args(rounds))
			both.Wait()
			if r.Err != nil || r.Shown.Text != "got:" {
				t.Errorf("%v, %s", r.Err, r.Shown.Text)
			}
			for name, was := range before {
				if now := guarded(t, top)[name]; now != was {
					t.Errorf("%s was %s, and is %s", name, was, now)
				}
			}
			if now := guarded(t, top); len(now) != len(before) {
				t.Errorf("what is guarded has %d files and folders, and had %d: %v", len(now), len(before), now)
			}
		})
	}
}

// guarded describes all that a guest of a folder must not change: what is hidden, what is
// outside, and each tools.toml.
func guarded(t *testing.T, top string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(filepath.Join(top, "work"), path)
		kept := strings.HasPrefix(rel, "data") || strings.HasPrefix(rel, "../outside") || strings.HasPrefix(rel, "conf") || rel == ".env" || rel == "weir.lock" || d.Name() == "tools.toml"
		if !kept {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		what := info.Mode().String()
		if !d.IsDir() {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			what += fmt.Sprintf(" %v %x", info.ModTime(), sha256.Sum256(text))
		}
		found[rel] = what
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
