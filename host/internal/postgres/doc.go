// Package postgres connects to PostgreSQL, weir's second database, through the package
// database/sql. It knows no table.
//
// The statements of weir are written once, for SQLite and for PostgreSQL. What differs in
// every statement is done here:
//
//   - Parameters are written as ? and ?1; PostgreSQL has $1 (statement.go).
//   - A text may have any bytes. PostgreSQL's have neither NUL nor invalid UTF-8: these
//     are escaped on the way there, and restored on the way back (text.go).
//   - Transactions that write run one after the other, also those of several processes, as
//     with a file (pipeline.go). So far the connection that writes owns the database while it
//     lasts, unless it is opened as shared (driver.go).
//   - Processes that share a database wake each other (listen.go).
//
// Package sqlite uses it, and says what the database promises.
package postgres
