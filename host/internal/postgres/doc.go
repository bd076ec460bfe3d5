// Package postgres connects to PostgreSQL, weir's second database, through the package
// database/sql. It knows no table.
//
// The statements of weir are written once, for SQLite and for PostgreSQL. What differs in
// every statement is done here:
//
//   - Parameters are written as ? and ?1; PostgreSQL has $1 (statement.go).
//   - A text may have any bytes. PostgreSQL's have neither NUL nor invalid UTF-8: these
//     are escaped on the way there, and restored on the way back (text.go).
//   - The connection that writes owns the database while it lasts, so that one process
//     writes, as with a file (driver.go).
//
// Package sqlite uses it, and says what the database promises.
package postgres
