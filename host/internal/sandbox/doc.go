// Package sandbox runs guests: it is the one door to WebAssembly, and no type
// of an engine shows in its interface. Every call gets fresh state, a deadline
// that always holds, a cap on memory and exactly the powers of its Grant.
// Whatever a guest does comes back as a typed error with a sentence that a
// model can act on.
//
// Two things can be exchanged without the rest noticing. A frontend knows how
// plugins talk to the host: on the engine itself (wazero.go, instance.go,
// mailbox.go, renew.go, stop.go), or by Extism's Go SDK, the reference that the
// first is held to (extism.go). A supply knows how to come by an instance that is
// as if nobody had used it: one that is renewed after each call (keep.go), or a
// new one, with spares kept ready (supply.go). What a guest can reach, whichever
// engine runs it, is its env (env.go) and the host functions on it (hostfuncs.go,
// hyper.go, vars.go).
//
// The layouts of the host functions stand in docs/abi.md.
package sandbox
