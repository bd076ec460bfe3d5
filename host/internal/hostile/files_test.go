package hostile

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// opens is a guest that opens a file of its first folder, to cut and write it,
// and fails with the error of that.
func opens(name string, flags int32) part {
	var p part
	for i := 0; i < len(name); i += 8 {
		eight := append([]byte(name[i:min(i+8, len(name))]), make([]byte, 8)...)
		p = do(p, num(int32(64+i)), long(int64(binary.LittleEndian.Uint64(eight))), memory(opStore64, 0))
	}
	return do(p, num(3), num(1), num(64), num(int32(len(name))), num(flags), long(64), long(0), num(0), num(512), call(fOpen))
}

// A guest may write to a folder that contains weir's own files: it can change
// everything but those.
func TestAGrantedFolderKeepsWhatDecides(t *testing.T) {
	work := t.TempDir()
	in := func(name string) string { return filepath.Join(work, name) }
	for name, text := range map[string]string{"tools.toml": "grants", "data/token": "TOKEN", "notes": "notes", "sub/x": "x", "plugins/README": "none yet", "../outside": "outside"} {
		if err := os.MkdirAll(filepath.Dir(in(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(in(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"link": "../outside", "around": "data", "config": "tools.toml"} {
		if err := os.Symlink(to, in(link)); err != nil {
			t.Fatal(err)
		}
	}
	const cut, make = 8, 1
	type row struct {
		name, path string
		flags      int32
		want       bool
	}
	rows := []row{
		{"notes", "notes", cut, true},
		{"fresh", "fresh", make, true},
		{"config", "tools.toml", cut, false},
		{"config_by_link", "config", cut, false},
		{"lock", "weir.lock", make, false},
		{"token", "data/token", cut, false},
		{"token_by_link", "around/token", cut, false},
		{"into_data", "data/new", make, false},
		{"config_elsewhere", "sub/tools.toml", make, false},
		{"into_the_plugins", "plugins/x.wasm", make, false},
		{"beside_the_plugins", "plugins.txt", make, true},
		{"outside", "../outside", cut, false},
		{"outside_by_link", "link", cut, false},
		{"outside_by_root", "/etc/passwd", cut, false},
		{"root", ".", cut, false},
	}
	// As in a container whose volumes overlap; it needs root.
	again := in("sub/again")
	if err := os.Mkdir(again, 0o755); err != nil {
		t.Fatal(err)
	}
	if exec.Command("mount", "--bind", in("data"), again).Run() == nil {
		t.Cleanup(func() {
			if out, err := exec.Command("umount", again).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
		rows = append(rows, row{"token_mounted_twice", "sub/again/token", cut, false}, row{"into_data_mounted_twice", "sub/again/new", make, false})
	}
	dir := t.TempDir()
	grants := map[string]plugin.Grant{}
	for _, row := range rows {
		dropIn(t, dir, dropped{name: row.name, wasm: guest(opens(row.path, row.flags)), asks: `paths = [{ guest = "/w", mode = "rw", reason = "writes" }]`, writes: true})
		grants[row.name] = plugin.Grant{Paths: []plugin.PathGrant{{Guest: "/w", Host: work, Mode: "rw"}}}
	}
	for _, isolation := range []host.Isolation{host.OwnProcess, host.Inline} {
		t.Run(string(isolation), func(t *testing.T) {
			h := open(t, dir, isolation, func(c *host.Config) {
				c.Approvals = approval.Policy{Default: approval.Allow}
				c.Grants, c.Hidden, c.ReadOnly = grants, []string{in("data")}, []string{"tools.toml", in("weir.lock")}
				c.Folders = append(c.Folders, plugin.Folder{Path: in("plugins")})
			})
			for _, row := range rows {
				if r, _ := ask(t, h, tool.En, row.name, `{}`); (r.Err == nil) != row.want {
					t.Errorf("%s: %v", row.name, r.Err)
				}
			}
		})
	}
	for name, want := range map[string]string{"tools.toml": "grants", "data/token": "TOKEN", "notes": "", "../outside": "outside", "fresh": ""} {
		if text, err := os.ReadFile(in(name)); err != nil || string(text) != want {
			t.Errorf("%s is %q, %v", name, text, err)
		}
	}
	for _, name := range []string{"weir.lock", "data/new"} {
		if _, err := os.Lstat(in(name)); err == nil {
			t.Errorf("%s is there", name)
		}
	}
}
