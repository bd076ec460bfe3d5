// Package pgtest runs the tests of a package on SQLite and, where everything is tested
// (make test-all) or WEIR_TEST_POSTGRES=yes asks for it, again on a PostgreSQL server that it
// starts for the package, on 127.0.0.1. Where no server is installed, it says so and leaves
// the second run out.
//
// WEIR_TEST_POSTGRES=only leaves out the first run, also of benchmarks, which otherwise
// run on SQLite alone, and makes the second one longer (make test-store);
// WEIR_TEST_POSTGRES=no leaves out the second.
package pgtest

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver named "pgx"

	"github.com/weirhost/weir/host/internal/postgres"
	"github.com/weirhost/weir/internal/testsize"
)

// Main is what TestMain gives to goleak in place of its M.
type Main struct {
	*testing.M
	// Part is the pattern of the tests that the second run has, unless that is the only one,
	// for a package whose tests take long. Empty: all.
	Part string
}

// errLeftOut is the error where PostgreSQL is not to be tested.
var errLeftOut = errors.New("make test-all tests it, or WEIR_TEST_POSTGRES=yes")

// wanted returns the value of WEIR_TEST_POSTGRES: by default "no", and "yes" for make test-all.
func wanted() string {
	if choice := os.Getenv("WEIR_TEST_POSTGRES"); choice != "" {
		return choice
	}
	if testsize.All() {
		return "yes"
	}
	return "no"
}

// ErrMissing is the error of a machine without the server.
var ErrMissing = errors.New("it is not installed (apt install postgresql), or not on Linux")

// serverEnv has the URL of the server, in the second run only.
const serverEnv = "WEIR_TEST_POSTGRES_URL"

// Run runs the tests on each database.
func (m Main) Run() (code int) {
	flag.Parse()
	choice := wanted()
	if choice != "only" {
		code = m.M.Run()
		if choice == "no" || code != 0 || flag.Lookup("test.fuzzworker").Value.String() == "true" {
			return code
		}
		for _, other := range []string{"test.bench", "test.fuzz", "test.list"} {
			if flag.Lookup(other).Value.String() != "" {
				return code
			}
		}
	}
	server, stop, err := Start()
	if err != nil {
		fmt.Println("PostgreSQL is not tested:", err)
		if choice == "only" || !errors.Is(err, ErrMissing) {
			return 1
		}
		return code
	}
	defer stop()
	os.Setenv(serverEnv, server)
	if checks := flag.Lookup("rapid.checks"); checks != nil && choice != "only" {
		_ = checks.Value.Set("15") // it is a number
	}
	if run := flag.Lookup("test.run").Value; m.Part != "" && run.String() == "" && choice != "only" {
		_ = run.Set(m.Part) // it is a text
	}
	defer os.Unsetenv(serverEnv)
	return m.M.Run()
}

// StartFor starts a server for a test, and skips the test where PostgreSQL is not tested or
// not installed.
func StartFor(t testing.TB) (url string) {
	t.Helper()
	url, stop, err := Start()
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(stop)
	return url
}

// URL returns the URL of a new, empty database for a test, which is removed after it; in
// the first run it is empty. Tests and benchmarks of SQLite's file call SQLite instead.
// With the path of a file of the test it is always the same database for the same path. The
// server may be silent for a minute: a busy machine is no reason for tests to lose it.
func URL(t testing.TB, path ...string) string {
	t.Helper()
	server := os.Getenv(serverEnv)
	if server == "" {
		return ""
	}
	db, err := sql.Open("pgx", server)
	if err != nil {
		t.Fatal(err)
	}
	name, there := "nextval('tests')::text", false
	if len(path) > 0 {
		name = fmt.Sprintf("md5('%x')", path[0])
	}
	var schema string
	if err := db.QueryRow("SELECT name, to_regnamespace(name) IS NOT NULL FROM (SELECT 'test_' || "+name+") AS t(name)").Scan(&schema, &there); err != nil {
		t.Fatal(err)
	}
	if there {
		db.Close()
		return server + "&connect_timeout=60&search_path=" + url.QueryEscape(schema)
	}
	if _, err := db.Exec("CREATE SCHEMA " + schema); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, drop := context.WithoutCancel(t.Context()), "SET client_min_messages = error; DROP SCHEMA "+schema+" CASCADE"
		_, err := db.ExecContext(ctx, drop)
		for range 10 { // the server may still work on what a daemon asked before it ended
			if !postgres.Deadlock(err) {
				break
			}
			_, err = db.ExecContext(ctx, drop)
		}
		if err != nil {
			t.Error(err)
		}
		db.Close()
	})
	return server + "&connect_timeout=60&search_path=" + url.QueryEscape(schema)
}

// SQLite leaves a test out of the second run: it is about the file, or opens it by its path.
func SQLite(t testing.TB) {
	if t.Helper(); os.Getenv(serverEnv) != "" {
		t.Skip("SQLite only")
	}
}

// Long leaves a test out of the second run, unless that is the only one.
func Long(t testing.TB) {
	if t.Helper(); os.Getenv(serverEnv) != "" && os.Getenv("WEIR_TEST_POSTGRES") != "only" {
		t.Skip("make test-store runs it on PostgreSQL")
	}
}

// InPostgres reports whether this is the second run.
func InPostgres() bool { return strings.HasPrefix(os.Getenv(serverEnv), "postgres:") }
