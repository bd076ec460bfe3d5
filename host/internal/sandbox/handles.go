package sandbox

import (
	"reflect"

	"github.com/tetratelabs/wazero/api"
)

// mostStack is the stack, in bytes, that an idle instance may keep for the next
// call. It begins with 10 KiB, and a guest that calls itself ten thousand times
// leaves megabytes.
const mostStack = 256 << 10

// dropHandles lets go of the functions whose stacks have grown, and of all after
// a stop, behind which an engine need not clean up.
func (i *wazeroInstance) dropHandles() {
	kept := i.exports[:0]
	for _, h := range i.exports {
		if !i.stopped && bytesOf(h.stack) <= mostStack {
			kept = append(kept, h)
		}
	}
	clear(i.exports[len(kept):])
	i.exports = kept
	if i.stopped {
		i.kernelHandles = [kernelFuncs]api.Function{}
	}
	i.stopped = false
}

// stackOf is the stack that a handle keeps; the zero Value if it is not found. The
// engine has no word for it.
func stackOf(f api.Function) reflect.Value {
	v := reflect.ValueOf(f)
	if v.Kind() == reflect.Pointer && v.Elem().Kind() == reflect.Struct {
		if stack := v.Elem().FieldByName("stack"); stack.Kind() == reflect.Slice {
			return stack
		}
	}
	return reflect.Value{}
}

// bytesOf is the size of a stack. Should the engine come to keep them elsewhere,
// every handle counts as large and is dropped.
func bytesOf(stack reflect.Value) int {
	if !stack.IsValid() {
		return mostStack + 1
	}
	return stack.Len() * int(stack.Type().Elem().Size())
}
