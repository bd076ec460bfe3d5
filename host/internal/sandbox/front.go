package sandbox

import (
	"context"

	"github.com/weirhost/weir/sdk/tool"
)

// A frontend knows one way in which plugins and host talk. It is safe for
// concurrent use.
type frontend interface {
	// offers lists, by module, the functions that a plugin may import.
	offers() map[string][]string
	// plan says what the engine is to compile. Equal modules give equal plans. The
	// error is a sentence.
	plan(s *structure) (plan, error)
	// mark is a word that is another one where equal modules may give other plans:
	// in another frontend, or another version of this one.
	mark() string
	// compile gets the plan of a module whose structure was checked, and recovers
	// from what an engine does. cacheDir is empty for no disk cache.
	compile(ctx context.Context, p plan, cacheDir string) (program, error)
}

// A plan is a module as the engine is to see it.
type plan struct {
	wasm []byte
	init []string // exports that set the guest's runtime up, in order

	kernelWasm []byte // the kernel as the engine is to see it; nil: the guest uses none
	usesStdio  bool   // the guest may change WASI's descriptors

	watched  bool // the engine has to watch the context, for the code does not look
	canRenew bool // instances can be renewed
	portable bool // and take over each other's state,
	globals  int  // so many globals of it
}

// A program is a compiled module. start makes an initialised instance in a
// fresh state, within the env's span; it may be called from several goroutines at
// once. close waits for nothing: its caller knows that no instance is left.
type program interface {
	start(e *env) (instance, error)
	// renewable reports whether instances can serve several calls.
	renewable() bool
	close(ctx context.Context) error
}

// An instance serves one call at a time, within its env's span, and is renewed
// before the next or closed. Between take and give it is its caller's own.
type instance interface {
	call(export string, input []byte) (reply, error)
	// renew puts the instance back to how it was before its call. After an error
	// it cannot serve another one.
	renew() error
	environment() *env
	close() error
}

// A reply is what an export came to when the engine reported no error.
type reply struct {
	output []byte
	code   uint32 // what the export returned; 0: success
	astray bool   // the output is not the one that the guest has set
}

// A supply hands out instances that are as if nobody had used them. take counts
// as part of the call and obeys its span; give takes an instance back, whatever
// became of it. It is safe for concurrent use; close comes behind the last give.
type supply interface {
	take(sp span, s setup) (instance, error)
	give(i instance)
	close()
}

// A setup is what an instance must know when it is made, before any call.
type setup struct {
	grant  Grant
	limits tool.Limits
	fresh  bool // nothing but a new instance will do
}
