package doctor

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/internal/postgres/pgtest"
	"github.com/weirhost/weir/host/internal/sqlite"
)

// What no weir of this version can open is not sound, whichever tables are newer.
func TestNewerTables(t *testing.T) {
	e, url := &exam{}, pgtest.URL(t)
	if e.Paths.Archive = filepath.Join(t.TempDir(), "archive.db"); url != "" {
		e.settings.Store.URL = &url
	}
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: e.Paths.Archive, URL: url}, archive.Schema(), store.Schema())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	for _, status := range []Status{OK, Fail} {
		e.archive(t.Context())
		if last := e.findings[len(e.findings)-1]; last.Status != status || (status == Fail) != strings.Contains(last.What.String(), "a newer weir") {
			t.Errorf("%+v, want %v", last, status)
		}
		if _, err := db.ExecContext(t.Context(), "INSERT INTO conversations_version (version_id, is_applied) VALUES (9000, TRUE)"); err != nil {
			t.Fatal(err)
		}
	}
}
