// Package wasmcheck validates the structure of a WebAssembly file before any engine
// sees it. Engines allocate by what a file declares: fifteen bytes that claim four
// billion tables end the whole process, and nothing can recover from it. This
// package reads the file once, in time proportional to its length. It allocates
// nothing for a count before it has seen as many bytes. A refusal names the section
// and the count.
//
// It decodes every instruction and checks every index and every nesting depth. It
// does not check types: the engine does, on a file whose structure is then known to
// be sound. Its Report is the only description of a module that the rest of weir
// uses, so there is one parser of the format.
//
// # Files
//
//   - check: a module
//   - limits: its bounds
//   - kind: what it is not
//   - reader, outside, code, instruction: reads it
//   - walk: passes over its code
//   - report: what is found
package wasmcheck
