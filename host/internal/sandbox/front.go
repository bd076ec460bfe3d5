package sandbox

import (
	"context"

	"github.com/weirhost/weir/sdk/tool"
)

// A frontend is one ABI between plugins and the host. It is safe for concurrent use.
type frontend interface {
	// offers returns, by module, the functions that a plugin may import.
	offers() map[string][]string
	// plan returns what the engine compiles. Equal modules give equal plans. The
	// error is a sentence.
	plan(s *structure) (plan, error)
	// mark returns a word that differs where equal modules may give other plans:
	// in another frontend, or another version of this one.
	mark() string
	// compile compiles the plan of a module whose structure was checked. It recovers
	// from panics of the engine. An empty cacheDir means no disk cache.
	compile(ctx context.Context, p plan, cacheDir string) (program, error)
}

// A plan is a module as the engine compiles it.
type plan struct {
	wasm []byte
	init []string // exports that initialize the guest's runtime, in order

	kernelWasm []byte // the kernel as the engine compiles it; nil: the guest uses none
	usesStdio  bool   // the guest may change WASI's descriptors

	watched  bool // the engine must watch the context: the code has no checks
	canRenew bool // instances can be reset
	portable bool // and can restore each other's state,
	globals  int  // with this many globals
}

// A program is a compiled module. start returns an initialized instance in a fresh
// state, within the env's span; it is safe for concurrent use. close does not wait: no
// instance may be left.
type program interface {
	start(e *env) (instance, error)
	// renewable reports whether instances can serve several calls.
	renewable() bool
	close(ctx context.Context) error
}

// An instance serves one call at a time, within its env's span, and is reset before
// the next one or closed. Between acquire and release it belongs to its caller.
type instance interface {
	call(export string, input []byte) (reply, error)
	// renew resets the instance to its state before the call. After an error
	// it cannot serve another call.
	renew() error
	environment() *env
	close() error
}

// A reply is the outcome of an export when the engine reported no error.
type reply struct {
	output []byte
	text   bool   // the output is the text of the answer, whatever the format
	code   uint32 // what the export returned; 0: success
	astray bool   // the output is not the one that the guest has set
}

// A supply provides instances in a fresh state. acquire is part of the call and obeys
// its span; release takes back an instance in any state. It is safe for concurrent
// use; close comes after the last release.
type supply interface {
	acquire(sp span, s setup) (instance, error)
	release(i instance)
	close()
}

// A setup is what an instance needs when it is created, before any call.
type setup struct {
	grant  Grant
	limits tool.Limits
	fresh  bool // only a new instance is accepted
}
