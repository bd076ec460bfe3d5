// Package conform holds no code but a test: the SDK of every language is asked
// for the same by the vectors of sdk/testdata/abi, in a real host, through the
// mailbox and through Extism's functions, and the shipped tools and those of the
// examples answer as their cases say. All of it is about guests: it is run without
// the race detector.
package conform
