// Package sandbox runs guests: it is the one door to WebAssembly, and no type
// of an engine shows in its interface. Every call gets fresh state, a deadline
// that always holds, a cap on memory and exactly the powers of its Grant.
// Whatever a guest does comes back as a typed error with a sentence that a
// model can act on.
//
// Two things can be exchanged without the rest noticing: a frontend knows how
// plugins talk to the host (today Extism's ABI through its Go SDK), a supply
// knows how to come by an instance that nobody has used (today by making one,
// with spares kept ready).
//
// The layouts of the host functions stand in docs/abi.md.
package sandbox
