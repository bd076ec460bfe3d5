package upstream

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhost/weir/internal/testtime"
)

// A call of which nothing is heard ends after its timeout; reports of progress extend it, but
// not without end.
func TestProgressExtendsADeadline(t *testing.T) {
	for _, row := range []struct {
		every, until time.Duration // between reports, and when they stop
		ends         time.Duration
		why          error
	}{
		{time.Hour, 0, 5 * time.Minute, errSilent},
		{4 * time.Minute, 20 * time.Minute, 25 * time.Minute, errSilent},
		{4 * time.Minute, 24 * time.Hour, time.Hour, errLong},
		{6 * time.Minute, 24 * time.Hour, 5 * time.Minute, errSilent},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			d := newDeadline(t.Context(), 5*time.Minute, nil)
			for d.ctx.Err() == nil {
				select {
				case <-d.ctx.Done():
				case <-time.After(row.every):
					if testtime.Since(began) <= row.until {
						d.report(1, 2, "")
					}
				}
			}
			if took := testtime.Since(began); took != row.ends || !errors.Is(context.Cause(d.ctx), row.why) {
				t.Errorf("%+v: after %s, %v", row, took, context.Cause(d.ctx))
			}
			d.stop()
		})
	}
}

// Reports arrive in their order, and before stop returns. One who takes none of them does not
// keep others from extending the time.
func TestReportsOfProgressArePassedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []int
		gate := make(chan struct{})
		d := newDeadline(t.Context(), time.Minute, func(done, _ int, _ string) {
			<-gate
			got = append(got, done)
		})
		for i := range 3 * maxReports {
			testtime.Sleep(30 * time.Second / maxReports)
			d.report(i, 0, "")
		}
		if d.ctx.Err() != nil {
			t.Error(context.Cause(d.ctx))
		}
		close(gate)
		d.stop()
		if len(got) < maxReports || len(got) > maxReports+1 || !slices.IsSorted(got) || got[0] != 0 {
			t.Errorf("%d", got)
		}
	})
}

func TestLongestTime(t *testing.T) {
	if got := longest(DefaultTimeout); got != time.Hour {
		t.Errorf("%s", got)
	}
	if got := longest(math.MaxInt64); got < math.MaxInt64/2 {
		t.Errorf("%s", got)
	}
}
