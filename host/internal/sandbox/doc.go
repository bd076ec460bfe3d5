// Package sandbox runs guests: WebAssembly modules of plugins. It is the only package
// that uses an engine, and no type of an engine is in its interface. Every call has a
// fresh state, a deadline, a memory limit and exactly the powers of its Grant. Every
// failure of a guest is a typed error with a sentence that a model can act on.
//
// An [Engine] loads a [Plugin] as a [Module], and Module.Call runs one [Invocation].
// Two parts are interchangeable:
//
//   - A frontend is an ABI between plugins and the host: on the engine itself
//     (wazero.go, instance.go, mailbox.go, renew.go, stop.go), or with Extism's Go SDK
//     (extism.go), the reference that the tests compare the first one with.
//   - A supply provides instances in a fresh state: one that is reset after each call
//     (recycle.go), or a new one, with spares prepared in advance (fresh.go).
//
// What a guest can reach, with either engine, is its env (env.go) and the host
// functions on it (hostfuncs.go, http.go, hyper.go, vars.go, wasi.go). Compiled code
// is in a disk cache (cache.go). Failures are in failure.go; their Chinese is in
// host/internal/msg/zh/sandbox.toml.
//
// docs/abi.md describes the host functions, and docs/engine.md how instances are reset
// and stopped.
//
// # Files
//
//   - api: the interface, the defaults
//   - engine: loads
//   - module: one plugin
//   - front, wazero, extism: two engines
//   - instance, fresh, recycle, renew: instances, new or restored
//   - calls, span, stop: calls and their deadline
//   - memory, weight: memory
//   - failure, guard: what went wrong
//   - hostfuncs, http, hyper, vars, wasi, mailbox, env, offers: what guests can import
//   - guestlog: what they print
//   - cache: compiled code
//   - inspect, wasm, section, remote: a module without running it
//   - handles, thread: details of the engine
package sandbox
