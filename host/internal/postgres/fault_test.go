package postgres

import (
	"fmt"
	"os"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// A database that ends a long statement is there; one that refuses a login is not.
func TestFaultOf(t *testing.T) {
	for code, want := range map[string]Fault{
		"08006": Unreachable, "28P01": Unreachable, "57P01": Unreachable, "53300": Unreachable,
		"57014": Other, "23505": Other, "53100": Full, "25006": Full,
	} {
		if f, ok := FaultOf(fmt.Errorf("asking: %w", &pgconn.PgError{Code: code})); f != want || !ok {
			t.Errorf("%s: %v %v, want %v", code, f, ok, want)
		}
	}
	if _, err := os.ReadDir(t.TempDir() + "/none"); err == nil {
		t.Error("read")
	} else if _, ok := FaultOf(err); ok {
		t.Errorf("%v: taken for one of the database", err)
	}
}
