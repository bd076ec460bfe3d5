package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite" // the driver named "sqlite"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/postgres"
)

// A Schema is the tables of one owner. Several owners may share a database file:
// each has a version of its own.
type Schema struct {
	// Name is the owner, in lower-case letters. The table NAME_version holds the
	// version of its tables.
	Name string
	// Files are the migrations, as package goose reads them: 00001_what.sql. Applied
	// migrations must not be changed. What follows the line "-- +goose Down" is not
	// applied. A file with a version before the first one is ErrUnreleased. PostgreSQL
	// gets the file of the same name in the folder postgres, or else a translation.
	Files fs.FS
}

// Embedded returns the schema of that name, whose steps are in the folder migrations of files.
func Embedded(name string, files embed.FS) Schema {
	sub, err := fs.Sub(files, "migrations")
	if err != nil {
		panic(err) // the name is constant
	}
	return Schema{Name: name, Files: sub}
}

func (s Schema) versionTable() string { return s.Name + "_version" }

// known returns the oldest and the latest version that this program knows.
func (s Schema) known() (oldest, latest int64) {
	names, _ := fs.Glob(s.Files, "*.sql") // the pattern is valid
	for _, name := range names {
		number, _, _ := strings.Cut(path.Base(name), "_")
		if n, err := strconv.ParseInt(number, 10, 64); err == nil {
			if latest = max(latest, n); oldest == 0 || n < oldest {
				oldest = n
			}
		}
	}
	return oldest, latest
}

// steps returns the migrations. SQLite itself divides a file into statements: goose's
// parser takes buffers of 4 MiB for that, and most of the time of a new file in tests.
func (s Schema) steps(k kind) (out []*goose.Migration, err error) {
	names, _ := fs.Glob(s.Files, "*.sql") // the pattern is valid
	for _, name := range names {
		version, err := goose.NumericComponent(name)
		if err != nil {
			return nil, err
		}
		up, err := s.up(k, name)
		if err != nil {
			return nil, err
		}
		out = append(out, goose.NewGoMigration(version, &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, up)
			return err
		}}, nil))
	}
	return out, nil
}

// up returns what a migration does.
func (s Schema) up(k kind, name string) (string, error) {
	var own []byte
	err := fs.ErrNotExist
	if k == inPostgres {
		own, err = fs.ReadFile(s.Files, "postgres/"+name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		own, err = fs.ReadFile(s.Files, name)
		if k == inPostgres {
			own = []byte(translate(string(own)))
		}
	}
	text, _, _ := strings.Cut(string(own), "-- +goose Down")
	return text, err
}

// refuse returns the error of a version of which this program cannot read the tables.
func (s Schema) refuse(version int64) error {
	switch oldest, latest := s.known(); {
	case version > latest:
		return msg.Errorf("%w (its version is %d, this weir knows %d)", ErrNewer, version, latest)
	case version > 0 && version < oldest: // the migrations of unreleased versions were squashed
		return ErrUnreleased
	}
	return nil
}

// unreleasedTable is where versions before the first release wrote theirs.
const unreleasedTable = "goose_db_version"

// hasTable reports whether a table exists.
func hasTable(ctx context.Context, q Querier, k kind, name string) (bool, error) {
	tables := "sqlite_schema WHERE name = ?"
	if k == inPostgres {
		tables = "pg_tables WHERE schemaname = current_schema() AND tablename = ?"
	}
	var n int
	err := q.QueryRowContext(ctx, "SELECT count(*) FROM "+tables, name).Scan(&n)
	return n > 0, err
}

// version returns the version of a schema in a file, 0 if it has none of its tables.
func (s Schema) version(ctx context.Context, q Querier, k kind) (version int64, err error) {
	if found, err := hasTable(ctx, q, k, s.versionTable()); err != nil || !found {
		return 0, err
	}
	err = q.QueryRowContext(ctx, "SELECT coalesce(max(version_id), 0) FROM "+s.versionTable()).Scan(&version)
	return version, err
}

// check reads a file that has content from one end to the other, without writing to
// it. It refuses one that is damaged or whose tables this program does not know.
func check(ctx context.Context, path string, readOnlyDisk bool, schemas []Schema) error {
	db, err := sql.Open("sqlite", dataSource(path, mode{Faults: Faults{ReadOnly: true, ReadOnlyDisk: readOnlyDisk}}))
	if err != nil {
		return err
	}
	defer db.Close()
	var verdict string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&verdict); err != nil {
		return wrapPath(ctx, path, err)
	}
	if verdict != "ok" {
		return msg.Errorf("%s: %w: %s", path, ErrDamaged, strings.Join(strings.Fields(verdict), " "))
	}
	if found, err := hasTable(ctx, db, inFile, unreleasedTable); err != nil {
		return wrapPath(ctx, path, err)
	} else if found {
		return msg.Errorf("%s: %w", path, ErrUnreleased)
	}
	for _, s := range schemas {
		version, err := s.version(ctx, db, inFile)
		if err != nil {
			return wrapPath(ctx, path, err)
		}
		if err := s.refuse(version); err != nil {
			return msg.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// Migrate brings the tables of a schema up to date. It writes nothing if they are.
// Tables of a newer weir are ErrNewer.
func (db *DB) Migrate(ctx context.Context, s Schema) error {
	const doing = "bringing the archive's tables up to date"
	version, err := s.version(ctx, db.write, db.kind)
	if err != nil {
		return Wrap(ctx, doing, err)
	}
	if err := s.refuse(version); err != nil {
		return err
	}
	if _, latest := s.known(); version == latest {
		return nil
	}
	steps, err := s.steps(db.kind)
	if err != nil {
		return Wrap(ctx, doing, err)
	}
	dialect := goose.DialectSQLite3
	if db.kind == inPostgres {
		dialect = goose.DialectPostgres
	}
	p, err := goose.NewProvider(dialect, db.write, nil, goose.WithGoMigrations(steps...), goose.WithDisableGlobalRegistry(true), goose.WithTableName(s.versionTable()))
	if err != nil {
		return Wrap(ctx, doing, err)
	}
	return Wrap(ctx, doing, db.alone(ctx, func() (err error) {
		for range 10 { // daemons that read several tables may be in the way of a change of several
			if _, err = p.Up(ctx); !postgres.Deadlock(err) {
				break
			}
		}
		return err
	}))
}
