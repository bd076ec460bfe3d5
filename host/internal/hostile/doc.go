// Package hostile holds no code but tests: plugins that were made to do harm,
// each written byte by byte by the test itself, and what the host must make of
// them. The short form runs with all other tests; `make test-hostile` runs the
// long one and prints the figures of docs/security.md.
package hostile
