package daemon

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
)

// panicked logs a panic of what msg tells, with where it was. Of its value it is
// the runtime's own words, and else only the type: an error can hold an address
// with a key in it.
func (d *Daemon) panicked(msg string, value any, more ...any) {
	what := fmt.Sprintf("a %T", value)
	if err, ok := value.(error); ok {
		if re, ok := errors.AsType[runtime.Error](err); ok {
			what = re.Error()
		}
	}
	d.log.Error(msg, append(more, "panic", what, "stack", string(debug.Stack()))...)
}
