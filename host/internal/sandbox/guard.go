package sandbox

import (
	"errors"
	"runtime/debug"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/internal/panics"
)

// guard runs a part of an engine. A panic in it becomes an error of the current
// module, and does not end the host.
func guard(log hclog.Logger, what string, f func() error) (err error) {
	defer recovered(log, what, &err)
	return f()
}

// recovered turns a panic into an error; it is deferred.
func recovered(log hclog.Logger, what string, err *error) {
	if p := recover(); p != nil {
		log.Error("the engine panicked", "while", what, "panic", panics.Says(p), "stack", string(debug.Stack()))
		*err = errEngine
	}
}

var errEngine = errors.New("the engine gave up on the module")
