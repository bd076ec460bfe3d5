package postgres_test

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/weirhost/weir/host/internal/postgres"
	"github.com/weirhost/weir/host/internal/postgres/pgtest"
)

// A plan that is made once, while a table is empty, must suit the table when it is large.
func TestPlansOfWrites(t *testing.T) {
	url := pgtest.StartFor(t)
	s, err := postgres.Open(url, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Beside.Close()
	defer s.Read.Close()
	defer s.Write.Close()
	for _, statement := range []string{"CREATE TABLE rows (id TEXT NOT NULL PRIMARY KEY)", "INSERT INTO rows VALUES ('a')", "DELETE FROM rows", "VACUUM ANALYZE rows"} {
		if _, err := s.Write.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	var plan, line string
	list, err := s.Write.QueryContext(t.Context(), "EXPLAIN DELETE FROM rows WHERE id = 'a'")
	if err != nil {
		t.Fatal(err)
	}
	for ; list.Next(); plan += line + "\n" {
		if err := list.Scan(&line); err != nil {
			t.Fatal(err)
		}
	}
	if err := list.Err(); err != nil || !strings.Contains(plan, "rows_pkey") {
		t.Errorf("the plan is %s, %v", plan, err)
	}
	for _, is := range []struct {
		db   *sql.DB
		mode string
	}{{s.Write, "force_generic_plan"}, {s.Read, "auto"}} {
		if err := is.db.QueryRowContext(t.Context(), "SHOW plan_cache_mode").Scan(&line); err != nil || line != is.mode {
			t.Errorf("%q, not %s: %v", line, is.mode, err)
		}
	}
}
