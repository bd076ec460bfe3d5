// Package panics tells of a panic without what it carries: an error can hold an
// address with a key in it, and a text whatever was at hand.
package panics

import (
	"errors"
	"fmt"
	"runtime"
)

// Says returns the runtime's own words about the value of a panic, and of any
// other value only the type.
func Says(value any) string {
	if err, ok := value.(error); ok {
		if re, ok := errors.AsType[runtime.Error](err); ok {
			return re.Error()
		}
	}
	return fmt.Sprintf("a %T", value)
}
