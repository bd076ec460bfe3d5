package doctor

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/lockfile/sharedlock"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/postgres/pgtest"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

func TestMain(m *testing.M) {
	if code, ok := host.WorkerMain(); ok {
		os.Exit(code)
	}
	os.Exit(pgtest.Main{M: m}.Run())
}

// lay writes a plugin. more is TOML of its manifest.
func lay(t *testing.T, dir, name, more string) {
	t.Helper()
	text := fmt.Sprintf("schema = 1\nname = %q\n%s\n[[tool]]\nname = %q\ndescription = \"a tool\"\nexport = \"answer\"\n", name, more, name)
	for file, text := range map[string]string{"plugin.toml": text, name + ".wasm": probeModule} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// In a database, doctor shows what daemons would serve, and changes nothing, even if no daemon
// has stored anything there yet.
func TestDatabaseIsOnlyRead(t *testing.T) {
	url := pgtest.URL(t)
	if url == "" {
		t.Skip("PostgreSQL only")
	}
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	// What the database has, as a text.
	content := func() (text string) {
		t.Helper()
		for _, table := range []string{"plugin_lock", "plugin_files", "tool_result_archive"} {
			var part string
			if err := db.QueryRow("SELECT coalesce(string_agg(r::text, '|'), '') FROM (SELECT * FROM " + table + " ORDER BY 1) AS r").Scan(&part); err != nil {
				t.Fatal(err)
			}
			text += table + ": " + part + "\n"
		}
		return text
	}
	e, there := &exam{}, t.TempDir()
	machine := func(folder, url string) config.Paths {
		data := t.TempDir()
		if e.settings.Store.URL = &url; url == "" {
			e.settings.Store.URL = nil
		}
		e.settings.Plugins.Folder = []config.FolderSettings{{Path: folder, Trust: string(plugin.TrustAsk)}}
		return config.Paths{Data: data, Archive: filepath.Join(data, "archive.db"), Pins: filepath.Join(data, "weir.lock"), Approved: filepath.Join(data, "approved"), Cache: filepath.Join(data, "cache")}
	}
	run := func(p config.Paths, then func(*host.Host)) {
		t.Helper()
		cfg := e.settings.Host(p, os.LookupEnv, hclog.NewNullLogger(), "")
		h, err := host.Open(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		then(h)
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
	}
	states := func() map[string]plugin.State {
		t.Helper()
		before := content()
		list, err := e.pluginList(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if now := content(); now != before {
			t.Errorf("doctor made of\n%.2000s\n%.2000s", before, now)
		}
		out := map[string]plugin.State{}
		for _, p := range list {
			out[p.Name] = p.State
		}
		return out
	}

	run(machine(t.TempDir(), url), func(*host.Host) {}) // it makes the tables
	lay(t, there, "pure", "")
	e.Paths = machine(there, "")
	run(e.Paths, func(*host.Host) {}) // it approves without a database
	before, err := os.ReadFile(e.Paths.Pins)
	if err != nil {
		t.Fatal(err)
	}
	e.settings.Store.URL = &url
	if got := states(); got["pure"] != plugin.Ready {
		t.Errorf("%v", got)
	}
	if now, err := os.ReadFile(e.Paths.Pins); err != nil || string(now) != string(before) {
		t.Errorf("%s\n%v", now, err)
	}

	run(e.Paths, func(*host.Host) {})
	elsewhere := t.TempDir()
	lay(t, elsewhere, "pure", "")
	lay(t, elsewhere, "new", `version = "1"`)
	e.Paths = machine(elsewhere, url)
	if got := states(); got["pure"] != plugin.Ready || got["new"] != plugin.Ready {
		t.Errorf("%v", got)
	}
	e.Paths = machine(t.TempDir(), url)
	if got := states(); got["pure"] != plugin.Ready || len(got) != 1 {
		t.Errorf("where no folder has it: %v", got)
	}

	for _, end := range []string{"", sharedlock.Stays} {
		if err := os.WriteFile(e.Paths.Pins+end, before, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e.plugins(t.Context())
	for locale, want := range map[tool.Locale]string{tool.En: " has no effect any more, and could not be renamed", tool.Zh: " 不再有效，且无法重命名"} {
		if !slices.ContainsFunc(e.findings, func(f Finding) bool { return f.Status == Warn && msg.In(locale, f.What) == e.Paths.Pins+want }) {
			t.Errorf("%s: %+v", locale, e.findings)
		}
	}
}
