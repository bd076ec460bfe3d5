package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/internal/term"
)

// Quotas are read as they are written in tools.toml.
func TestQuotasText(t *testing.T) {
	got := quotasText([]api.QuotaState{{Name: "tokens_per_day", Used: 1234567, Limit: 2e6}, {Name: "cost_per_day", Used: 0.1 + 0.2, Limit: 1.5}})
	if want := "tokens_per_day 1234567/2000000, cost_per_day 0.3/1.5"; got != want {
		t.Errorf("%q; want %q", got, want)
	}
}

// The data of a removed user stays, and is reported, until it is purged: together with
// the user, or later.
func TestUserRemove(t *testing.T) {
	const users = "# stays\n[users.ann]\ntoken = \"${ANN}\"\n[users.bob]\ntoken = \"${BOB}\"\n"
	dir := t.TempDir()
	left := func() {
		t.Helper()
		s, err := archive.Open(t.Context(), archive.Config{Path: filepath.Join(dir, "data", "archive.db")})
		if err != nil {
			t.Fatal(err)
		}
		db, err := store.Open(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"ann", "bob"} {
			if err := db.Begin(t.Context(), store.Conversation{ID: "of-" + name, Principal: name}, []store.Message{{Turn: 1, Role: "user", Content: "hi"}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	config := filepath.Join(dir, "tools.toml")
	step := func(code int, want string, args ...string) string {
		t.Helper()
		var out bytes.Buffer
		got := run(t.Context(), append([]string{"--config", config, "--data", filepath.Join(dir, "data")}, args...), term.Env{In: strings.NewReader(""), Out: &out, Err: &out, Lookup: barely(t)})
		if got != code || !strings.Contains(out.String(), want) {
			t.Errorf("%q: exit %d, want %d with %q:\n%s", args, got, code, want, &out)
		}
		return out.String()
	}
	if err := os.WriteFile(config, []byte(users), 0o600); err != nil {
		t.Fatal(err)
	}
	step(0, "ann", "user", "list") // makes the data folder
	left()
	step(0, "1 conversations, 0 calls, 0 archived results of 0 bytes and the counts of 0 days stay on the disk; `weir user remove ann --purge` deletes them", "user", "remove", "ann")
	step(term.ExitUsage, "there is no user", "user", "remove", "ann")
	step(0, "deleted 1 conversations", "user", "remove", "ann", "--purge")
	step(term.ExitUsage, "there is no user", "user", "remove", "ann", "--purge")
	step(term.ExitUsage, "operator", "user", "remove", "local", "--purge")
	if out := step(0, `"deleted"`, "--json", "user", "remove", "bob", "--purge"); !strings.Contains(out, `"conversations": 1`) && !strings.Contains(out, `"conversations":1`) {
		t.Error(out)
	}
	step(0, "there are no users", "user", "list")
}
