package guest

import (
	"strconv"

	"github.com/weirhost/weir/sdk/tool"
)

// Exit codes of a tool's export. An answer that says isError is a success
// here: the host reads it from the output.
const (
	exitOK       = 0
	exitNoOutput = 1 // setError said why, if there was memory left for it
)

// deliver hands the output to the host. set is false when the host has no
// memory left for it; the host would read nothing at all as an empty success,
// so a shorter answer goes out in its place.
func (c *Call) deliver(out []byte, set func([]byte) bool, setError func(string)) int32 {
	if set(out) {
		return exitOK
	}
	sorry := encode(Result{}, c.translated(Errorf(tool.TooLarge, "Ask for a smaller part.",
		"The result of %d bytes does not fit the memory of the call.", len(out)).
		Zh("请只要其中一部分。", "结果有 %d 字节，超出了这次调用的内存。")))
	if set(sorry) {
		return exitOK
	}
	setError("too_large: a result of " + strconv.Itoa(len(out)) + " bytes")
	return exitNoOutput
}
