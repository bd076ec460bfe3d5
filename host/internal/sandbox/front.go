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
	// plan says what the engine is to compile. Equal modules give equal plans.
	plan(s *structure) plan
	// compile gets the plan of a module whose structure was checked, and recovers
	// from what an engine does. cacheDir is empty for no disk cache.
	compile(ctx context.Context, p plan, cacheDir string) (program, error)
}

// A plan is a module as the engine is to see it.
type plan struct {
	wasm   []byte
	init   []string // exports that set the guest's runtime up, in order
	blocks bool     // it uses the kernel
}

// A program is a compiled module. start makes an initialised instance in a
// fresh state, within the env's span; it may be called from several goroutines at
// once. close waits for nothing: its caller knows that no instance is left.
type program interface {
	start(e *env) (instance, error)
	close(ctx context.Context) error
}

// An instance serves one call, within its env's span, and is then closed. It is
// never shared.
type instance interface {
	call(export string, input []byte) (reply, error)
	environment() *env
	close() error
}

// A reply is what an export came to when the engine reported no error.
type reply struct {
	output []byte
	code   uint32 // what the export returned; 0: success
	astray bool   // the output is not the one that the guest has set
}

// A supply hands out instances that nobody has used. take counts as part of
// the call and obeys its span.
type supply interface {
	take(sp span, s setup) (instance, error)
	close()
}

// A setup is what an instance must know when it is made, before any call.
type setup struct {
	grant  Grant
	limits tool.Limits
}
