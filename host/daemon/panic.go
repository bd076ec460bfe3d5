package daemon

import (
	"runtime/debug"

	"github.com/weirhost/weir/host/internal/panics"
)

// panicked logs a panic of what msg tells, with where it was.
func (d *Daemon) panicked(msg string, value any, more ...any) {
	d.log.Error(msg, append(more, "panic", panics.Says(value), "stack", string(debug.Stack()))...)
}
