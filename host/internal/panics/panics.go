// Package panics describes a panic without its content: an error can hold an address
// with a key in it, and a text may hold anything.
package panics

import (
	"errors"
	"fmt"
	"runtime"
)

// Says returns the runtime's own text of a panic value, and only the type of any other
// value.
func Says(value any) string {
	if err, ok := value.(error); ok {
		if re, ok := errors.AsType[runtime.Error](err); ok {
			return re.Error()
		}
	}
	return fmt.Sprintf("a %T", value)
}
