// Package cluster holds no code but a test: identical daemons on one PostgreSQL server,
// with clients that ask, while daemons are killed and frozen, their connections to the
// database are cut and slow, and the server restarts. No effect may happen twice, no
// result that was committed may be lost, and every stream must come to its end. `make
// test-all` runs a short form, `make test-cluster` the long one.
package cluster
