// Package sqlite opens weir's database, writes to it and maintains it: a file, or a
// PostgreSQL database. It knows no table: package archive and package daemon/store
// bring theirs, each as a Schema.
//
// How the parts work together:
//
//   - Open checks the file before SQLite sees it (file.go), reads it from one end
//     to the other, and brings the tables of a Schema up to date (migrate.go).
//   - A DB has one connection that writes and several that only read. Writes go
//     through a queue: the writes that wait while one transaction is synced to disk
//     share the next one (commit.go).
//   - Prepared statements run within a Batch, which is one transaction (batch.go).
//   - Reclaim returns freed pages to the file system and truncates the log
//     (space.go).
//   - postgres.go opens a PostgreSQL database, and has what differs there; copy.go
//     copies from one kind to the other.
//   - Examine and Snapshot read a file that another process may have open
//     (examine.go).
//
// What a DB promises:
//
//   - A write that Commit or Transact acknowledges is synced to disk
//     (synchronous=FULL).
//   - Deleted content is overwritten in the file (secure_delete). After Reclaim it
//     is not in the log either, unless a reader still uses the log; a later
//     TruncateLog then removes it.
//   - No content is written to a temporary file.
//   - The file has mode 0600, its folder 0700.
//
// Of these, PostgreSQL keeps the first.
//
// # Files
//
//   - db: opens
//   - commit, batch, query: writes and reads
//   - migrate: tables
//   - file, space: the file
//   - examine: checks, and copies while others write
//   - copy: copies between databases
//   - postgres, wakes: PostgreSQL
//   - errors: what went wrong
package sqlite
