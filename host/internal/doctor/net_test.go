package doctor

import (
	"context"
	"fmt"
	"testing"

	"github.com/weirhost/weir/sdk/tool"
)

// A server that says nothing is no "context deadline exceeded" for a person.
func TestSilentModel(t *testing.T) {
	f := unreachable("slow", fmt.Errorf("asking: %w", context.DeadlineExceeded))
	if got := f.What.In(tool.En); got != "slow: the server said nothing for 5s" {
		t.Errorf("%q", got)
	}
}
