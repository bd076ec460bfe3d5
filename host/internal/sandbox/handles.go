package sandbox

import (
	"reflect"

	"github.com/tetratelabs/wazero/api"
)

// mostStack is the largest stack, in bytes, that an idle instance keeps for the next
// call. Stacks begin with 10 KiB, and a recursion ten thousand calls deep leaves
// megabytes.
const mostStack = 256 << 10

// dropHandles drops the functions whose stacks have grown, and all functions after a
// stop: the engine need not clean up then.
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

// stackOf returns the stack of a handle; the zero Value if it is not found. The engine
// has no method for it.
func stackOf(f api.Function) reflect.Value {
	v := reflect.ValueOf(f)
	if v.Kind() == reflect.Pointer && v.Elem().Kind() == reflect.Struct {
		if stack := v.Elem().FieldByName("stack"); stack.Kind() == reflect.Slice {
			return stack
		}
	}
	return reflect.Value{}
}

// bytesOf returns the size of a stack. If a new version of the engine stores it
// elsewhere, every handle counts as large and is dropped.
func bytesOf(stack reflect.Value) int {
	if !stack.IsValid() {
		return mostStack + 1
	}
	return stack.Len() * int(stack.Type().Elem().Size())
}
