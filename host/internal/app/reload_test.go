package app

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/weirhost/weir/host/daemon/client"
	"github.com/weirhost/weir/host/internal/config"
)

// A daemon that was started before there was a configuration says after a reload that it
// has one, and makes its plugin folder: whoever follows the README outside a clone is not
// warned of either.
func TestReloadFindsTheFirstConfiguration(t *testing.T) {
	t.Chdir(t.TempDir())
	dir := t.TempDir()
	env := map[string]string{"HOME": dir}
	a, err := Open(t.Context(), Options{Stays: true, Source: config.Source{
		Data: filepath.Join(dir, "data"), Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	if err := Announce(a.Paths, a.Address("http://127.0.0.1:1", "serve")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, ".config", "weir", config.FileName)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("[agent]\nmax_tool_result_length = 9000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	report, err := a.Reload(t.Context())
	if err != nil || len(report.Notes) > 0 {
		t.Errorf("%v %v", report.Notes, err)
	}
	b, err := os.ReadFile(a.Paths.Address)
	if err != nil {
		t.Fatal(err)
	}
	var at client.Address
	if err := json.Unmarshal(b, &at); err != nil || at.Config != file || at.URL != "http://127.0.0.1:1" || at.Command != "serve" {
		t.Errorf("the address file says %s, %v", b, err)
	}
	if a.paths().Config != file {
		t.Errorf("the doctor examines %q", a.paths().Config)
	}
}

// A reload puts the settings for client programs in force.
func TestReloadReadsClients(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile(config.FileName, []byte("[clients.opencode]\nfold = true\n[clients.qwen]\nkeep = false\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	a, err := Open(t.Context(), Options{Source: config.Source{Data: filepath.Join(home, "data"), Env: func(name string) (string, bool) { return home, name == "HOME" }}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	p, loaded, err := a.load()
	if err != nil {
		t.Fatal(err)
	}
	next, err := a.prepare(p, loaded)
	if err != nil {
		t.Fatal(err)
	}
	if c := next.setup.Clients; len(c) != 2 || !c["opencode"].Keep || !c["opencode"].Fold || c["qwen"].Keep {
		t.Errorf("%+v", c)
	}
}
