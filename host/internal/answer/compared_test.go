package answer

import (
	"runtime"
	"strings"
	"testing"

	"github.com/weirhost/weir/sdk/tool"
)

// Comparing structured content with the texts has one bound for all of them together:
// an answer of 8 MB took 700 MB of allocations, in pieces that each were within it.
func TestComparingIsBounded(t *testing.T) {
	list := func(item string, n int) string { return strings.TrimSuffix(strings.Repeat(item+",", n), ",") }
	large := "[" + list("[]", 99_000) + "]"
	other := large[:len(large)-3] + "{}]"
	for name, answer := range map[string]string{
		"a list of lists": `{"structuredContent":{"a":[` + list(large, 13) + `]},"content":[` + list(`{"type":"text","text":"`+large+`"}`, 13) + `]}`,
		"many texts":      `{"structuredContent":` + other + `,"content":[` + list(`{"type":"text","text":"`+large+`"}`, 26) + `]}`,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		a := DecodeMCP([]byte(answer), tool.En)
		runtime.ReadMemStats(&after)
		if got := (after.TotalAlloc - before.TotalAlloc) / uint64(len(answer)); a.Err != nil || got > 15 {
			t.Errorf("%s: %v, %d times the answer's size", name, a.Err, got)
		}
	}
}
