// Package wasmcheck looks at a WebAssembly file before any engine does. Engines
// allocate by what a file declares: fifteen bytes that claim four billion
// tables end the whole process, and nothing can recover from it. The gate reads
// the file once, in time proportional to its length, allocates nothing for a
// count before it has seen the bytes behind it, and refuses with a sentence
// that says which section declares what.
//
// It decodes every instruction and holds every index and every nesting to its
// bounds. It does not check types: that is the engine's work, done on a file
// whose shape is then known to be sound. What passes is also what the rest of
// the house reads a module by, so there is one parser of the format.
package wasmcheck
