package sandbox

import (
	"context"

	"github.com/weirhost/weir/sdk/tool"
)

// A frontend knows one way in which plugins and host talk. compile gets a
// module whose structure was checked, and recovers from what an engine does.
type frontend interface {
	// offers lists, by module, the functions that a plugin may import.
	offers() map[string][]string
	compile(ctx context.Context, s *structure, cacheDir string) (program, error)
}

// A program is a compiled module. start makes an initialised instance in a
// fresh state; it may be called from several goroutines at once. close waits
// for nothing: its caller knows that no instance is left.
type program interface {
	start(ctx context.Context, e *env) (instance, error)
	close(ctx context.Context) error
}

// An instance serves one call and is then closed. It is never shared.
type instance interface {
	call(ctx context.Context, export string, input []byte) (reply, error)
	environment() *env
	close() error
}

// A reply is what an export came to when the engine reported no error.
type reply struct {
	output []byte
	code   uint32 // what the export returned; 0: success
}

// A supply hands out instances that nobody has used. take counts as part of
// the call and obeys its context.
type supply interface {
	take(ctx context.Context, s setup) (instance, error)
	close()
}

// A setup is what an instance must know when it is made, before any call.
type setup struct {
	grant  Grant
	limits tool.Limits
}
