package pulse

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/weirhost/weir/host/daemon/approvals"
	"github.com/weirhost/weir/host/daemon/store"
)

// away is a store of requests that cannot be read.
type away struct{ approvals.Store }

func (away) List(context.Context, string) ([]store.ApprovalRow, error) {
	return nil, errors.New("away")
}

// What waits for a person does not vanish while the database is away.
func TestPulseWhileAway(t *testing.T) {
	p := &Pulse{Config: Config{Approvals: approvals.NewSharedQueue(away{})}}
	if got, err := p.waiting(t.Context(), "ann", []string{"one"}); err == nil || !slices.Equal(got, []string{"one"}) {
		t.Errorf("%v, %v", got, err)
	}
}
