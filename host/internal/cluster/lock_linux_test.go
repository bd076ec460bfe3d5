package cluster

import (
	"context"
	"errors"
	"fmt"

	"github.com/anishathalye/porcupine"

	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/internal/lockfile/sharedlock"
)

// lockRegister is weir.lock of all daemons: a change holds only if it follows the last one.
// A daemon may read an old lock, which it then cannot change. There is one lock, and a round
// begins with the version that the one before has left, here unseen.
func lockRegister(locks map[*store.Store]*sharedlock.Lock) register {
	const unseen = "unseen"
	return register{
		name: "lock", alone: true,
		model: porcupine.Model{
			Init: func() any { return unseen },
			Step: func(state, in, out any) (bool, any) {
				has, read := state.(string), in.(string)
				follows := has == unseen || has == read
				switch out {
				case any(false):
					return has != read, has
				case any(unknown{}):
					if follows {
						has = unseen
					}
					return true, has
				default:
					return follows, out
				}
			},
		},
		round: func(context.Context, *store.Store, string) (client, error) {
			return func(_ context.Context, s *store.Store, number, step int) (any, func() (any, error)) {
				l, err := locks[s].Load()
				if err != nil {
					return unseen, func() (any, error) { return nil, err }
				}
				l.Entry("plugin").Source = fmt.Sprintf("%d of %d", step, number)
				return l.Revision, func() (any, error) {
					err := locks[s].Save(l)
					if errors.Is(err, sharedlock.ErrChanged) {
						return false, nil
					}
					return l.Revision, err
				}
			}, nil
		},
	}
}
