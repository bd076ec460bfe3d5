package rules

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What a migration may do while daemons of the version before use the tables: their
// statements stay right where tables, indexes and columns with a value come, and without a
// foreign key if a trigger deletes what it did.
var (
	adds      = regexp.MustCompile(`(?i)^(CREATE (TABLE|INDEX|TRIGGER|FUNCTION|OR REPLACE FUNCTION)|DROP INDEX|INSERT|SELECT|ALTER TABLE \w+ (ADD COLUMN|DROP CONSTRAINT \w+_fkey|SET \(toast_tuple_target))\b`)
	bodies    = regexp.MustCompile(`(?is)\$\$.*?\$\$|\bBEGIN\b.*?\bEND;`)
	remarks   = regexp.MustCompile(`--.*`)
	mustHave  = regexp.MustCompile(`(?i)\bNOT NULL\b`)
	hasValue  = regexp.MustCompile(`(?i)\bDEFAULT\b`)
	changes   = regexp.MustCompile(`(?i)^(?:CREATE UNIQUE INDEX \w+ ON|ALTER TABLE) (\w+)`)
	newTables = regexp.MustCompile(`(?i)CREATE TABLE (\w+)`)
)

// breaks returns the statements of a migration that daemons of the version before do not
// go on with.
func breaks(migration string) (out []string) {
	up, _, _ := strings.Cut(migration, "-- +goose Down")
	up = bodies.ReplaceAllString(remarks.ReplaceAllString(up, ""), "body;")
	var made []string
	for _, m := range newTables.FindAllStringSubmatch(up, -1) {
		made = append(made, m[1])
	}
	for s := range strings.SplitSeq(up, ";") {
		s = strings.Join(strings.Fields(s), " ")
		changed := changes.FindStringSubmatch(s)
		switch {
		case s == "" || s == "body" || changed != nil && slices.Contains(made, changed[1]):
		case !adds.MatchString(s), changed != nil && mustHave.MatchString(s) && !hasValue.MatchString(s):
			out = append(out, s)
		}
	}
	return out
}

func TestMigrationsOnlyAdd(t *testing.T) {
	for migration, want := range map[string]int{
		"DROP TABLE a;": 1, "ALTER TABLE a RENAME TO b": 1, "ALTER TABLE a DROP COLUMN b;": 1, "UPDATE a SET b = 1": 1, "DELETE FROM a": 1,
		"ALTER TABLE a ADD COLUMN b TEXT NOT NULL": 1, "CREATE UNIQUE INDEX b ON a (c)": 1, "CREATE TABLE b (c); CREATE UNIQUE INDEX b ON a (c)": 1,
		"ALTER TABLE a DROP CONSTRAINT a_pkey": 1, "ALTER TABLE a DROP CONSTRAINT a_b_fkey; ALTER TABLE a SET (toast_tuple_target = 8160)": 0,
		"CREATE TABLE a (c);\nCREATE UNIQUE INDEX b ON a (c); -- DROP TABLE a;\n-- +goose Down\nDROP TABLE a": 0,
		"ALTER TABLE a ADD COLUMN b TEXT; ALTER TABLE a ADD COLUMN c TEXT NOT NULL DEFAULT ''":                0,
	} {
		if got := breaks(migration); len(got) != want {
			t.Errorf("%s: %q", migration, got)
		}
	}
	files := 0
	err := filepath.WalkDir("host", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.Contains(path, "/migrations/") || filepath.Ext(path) != ".sql" {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		for _, s := range breaks(string(text)) {
			t.Errorf("%s: daemons of the version before, which go on during an update (docs/cluster.md), may not be able to use the tables after\n%s", path, s)
		}
		return err
	})
	if err != nil || files < 15 {
		t.Error(files, err)
	}
}
