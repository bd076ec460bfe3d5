package installkey

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/weirhost/weir/host/internal/postgres/pgtest"
	"github.com/weirhost/weir/host/internal/sqlite"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main{M: m}.Run()) }

func database(t *testing.T) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "weir.db"), URL: pgtest.URL(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func open(t *testing.T, db *sqlite.DB, token string) *Key {
	t.Helper()
	k, err := Open(t.Context(), db, token)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// What is sealed is read by the same token alone, for the same purpose, unchanged.
func TestSeal(t *testing.T) {
	db := database(t)
	k := open(t, db, "token")
	sealed := k.Seal("script 1", []byte("state"))
	if bytes.Contains(sealed, []byte("state")) {
		t.Error("it can be read")
	}
	if got, err := open(t, db, "token").Unseal("script 1", sealed); err != nil || string(got) != "state" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := k.Unseal("script 2", sealed); !errors.Is(err, ErrChanged) {
		t.Errorf("for another purpose: %v", err)
	}
	if _, err := open(t, db, "another token").Unseal("script 1", sealed); !errors.Is(err, ErrOther) {
		t.Errorf("by another token: %v", err)
	}
	for i := range sealed {
		changed := bytes.Clone(sealed)
		changed[i] ^= 1
		if _, err := k.Unseal("script 1", changed); err == nil {
			t.Fatalf("byte %d was changed", i)
		}
		if _, err := k.Unseal("script 1", sealed[:i]); err == nil {
			t.Fatalf("cut to %d", i)
		}
	}
	if got, err := k.Unseal("script 1", sealed); err != nil || string(got) != "state" {
		t.Errorf("the other token's key has replaced it: %q, %v", got, err)
	}
}

// A wrapped key that was changed in the database is an error, and is not replaced.
func TestAChangedKey(t *testing.T) {
	db := database(t)
	open(t, db, "token")
	if _, err := db.ExecContext(t.Context(), "UPDATE installation_keys SET wrapped = ?", []byte("no key")); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), db, "token"); !errors.Is(err, ErrChanged) {
		t.Error(err)
	}
}
