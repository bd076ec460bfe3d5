package backup

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/sqlite"
	"github.com/weirhost/weir/host/script/journal"
	"github.com/weirhost/weir/sdk/tool"
)

// entries are the names of a folder, but for the lock.
func entriesOf(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range list {
		if e.Name() != "lock" {
			out = append(out, e.Name())
		}
	}
	return out
}

// A restore that fails half-way leaves the folder as it was.
func TestExchangeIsTakenBack(t *testing.T) {
	data := t.TempDir()
	for _, name := range []string{"token", ".restore-1/token", ".restore-1/plugins/x"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(data, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(data, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := exchange(data, filepath.Join(data, ".restore-1"), []string{"token"}, []string{"plugins", "token", "missing"}, nil); err == nil {
		t.Fatal("a file that is missing was moved")
	}
	full := errors.New("the database is not empty")
	if _, err := exchange(data, filepath.Join(data, ".restore-1"), []string{"token"}, []string{"plugins", "token"}, func() error { return full }); !errors.Is(err, full) {
		t.Error(err)
	}
	if b, err := os.ReadFile(filepath.Join(data, "token")); err != nil || string(b) != "token" {
		t.Errorf("%q, %v", b, err)
	}
	if got := entriesOf(t, data); !slices.Equal(got, []string{".restore-1", "token"}) {
		t.Errorf("%v", got)
	}
}

// A script that was under way when a backup was made does not go on from it.
func TestScriptsOfABackup(t *testing.T) {
	scripts := func(dir string) (*sqlite.DB, *journal.Journal) {
		db, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(dir, archiveName)})
		if err != nil {
			t.Fatal(err)
		}
		j, err := journal.Open(t.Context(), db, nil)
		if err != nil {
			t.Fatal(err)
		}
		return db, j
	}
	from, to, file := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "b.gz")
	db, j := scripts(from)
	if err := j.Add(t.Context(), journal.Script{ID: "s", Principal: "me", Script: json.RawMessage(`{}`)}); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Write(t.Context(), config.Source{}, config.Paths{Data: from, Archive: filepath.Join(from, archiveName)}, file, "1", false, func(tool.Text) {}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Restore(t.Context(), config.Source{}, config.Paths{Data: to}, file, false); err != nil {
		t.Fatal(err)
	}
	for dir, runtime := range map[string]string{from: "", to: journal.Restored} {
		db, j := scripts(dir)
		list, err := j.Unfinished(t.Context())
		if err != nil || len(list) != 1 || list[0].Runtime != runtime {
			t.Errorf("%s: %+v %v; want the runtime %q", dir, list, err, runtime)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Every file of the data folder is in a backup, or known not to be.
func TestBackupHoldsEveryFile(t *testing.T) {
	raw, err := json.Marshal(config.Paths{Data: "d", Archive: "d/archive.db", Token: "d/token", Address: "d/daemon.json", Lock: "d/lock", Pins: "d/weir.lock", Approved: "d/approved", Cache: "d/cache"})
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]string
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	for key, kept := range map[string]bool{"token": true, "pins": true, "approved": true, "address": false, "lock": false, "cache": false, "archive": false} {
		if excluded(filepath.Base(all[key])) == kept {
			t.Errorf("%s (%s): left out %v", key, all[key], kept)
		}
	}
	if lease := filepath.Base(config.Paths{Lock: "d/lock"}.Lease()); !excluded(lease) { // the id of a daemon that may live
		t.Errorf("%s is in a backup", lease)
	}
}

// A configuration that cannot be read may name a database: no backup is made without it.
func TestConfigurationThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"folder": "", "table": "[store]\nurl = 5", "quoted": "[ \"store\" ]\nurl = 5", "key": "'store'.url = 5",
	} {
		file := filepath.Join(dir, name)
		var err error
		if text == "" {
			err = os.Mkdir(file, 0o700)
		} else {
			err = os.WriteFile(file, []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := databaseOf(config.Source{}, config.Paths{Data: dir, Config: file}); err == nil {
			t.Errorf("%s: taken for one without a database", name)
		}
	}
	if _, err := databaseOf(config.Source{}, config.Paths{Data: dir}); err != nil {
		t.Error(err)
	}
}

// A copy gets its name when all of it is in its file, and no file beside it belongs to another.
func TestCopyIntoAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), archiveName)
	for _, end := range []string{"", "-wal", "-shm", "-journal"} {
		if err := os.WriteFile(path+end, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := free(path); err == nil {
			t.Errorf("%s is there", path+end)
		}
		if err := os.Remove(path + end); err != nil {
			t.Fatal(err)
		}
	}
	for _, log := range []string{"rows", ""} {
		for end, text := range map[string]string{"": "file", "-wal": log} {
			if err := os.WriteFile(path+".part"+end, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := name(path+".part", path); (err == nil) != (log == "") {
			t.Errorf("a log with %q: %v", log, err)
		}
	}
}
