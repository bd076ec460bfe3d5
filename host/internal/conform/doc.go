// Package conform holds no code but a test: the SDK of every language is asked
// for the same by the vectors of sdk/testdata/abi, in a real host, through the
// mailbox and through Extism's functions.
package conform
