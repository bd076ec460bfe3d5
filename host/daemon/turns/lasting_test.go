package turns

import (
	"context"
	"testing"

	"github.com/weirhost/weir/host/daemon/store"
)

// A turn that is complete when the daemon stops is stored, and not left.
func TestACompleteTurnIsNotLeft(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errStopped)
	l := &lasting{Run: &store.Run{Resumed: true}}
	if l.left(ctx, nil) {
		t.Error("it is left")
	}
}
