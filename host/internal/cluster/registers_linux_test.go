package cluster

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/internal/lockfile/sharedlock"
	"github.com/weirhost/weir/host/internal/postgres/pgtest"
	"github.com/weirhost/weir/internal/testtime"
)

// A register is something that daemons decide together. A round makes one, and says what
// a client of it does; model says what may come of that.
type register struct {
	name  string
	alone bool // rounds are one after the other
	model porcupine.Model
	round func(ctx context.Context, s *store.Store, name string) (client, error)
}

// A client does something with a register over one connection to the database. An error
// means that it is not known whether that happened.
type client func(ctx context.Context, s *store.Store, number, step int) (in any, do func() (out any, err error))

// unknown is the output of what may have happened or not, at any time from its call on.
type unknown struct{}

var errRefused = errors.New("refused")

const running = 2 // how many requests of a user may run at once

var registers = []register{
	{
		// The first answer to a request is the one.
		name: "approval",
		model: porcupine.Model{
			Init: func() any { return "" },
			Step: func(state, in, out any) (bool, any) {
				has, answer := state.(string), in.(string)
				switch out := out.(type) {
				case string: // read
					return out == has, has
				case bool:
					if out || has == "" {
						return out && has == "", answer
					}
					return true, has
				default:
					if has == "" && answer != "" {
						has = answer
					}
					return true, has
				}
			},
		},
		round: func(ctx context.Context, s *store.Store, name string) (client, error) {
			a, now := s.Approvals(), time.Now()
			row := store.ApprovalRow{ID: name, Principal: name, Same: name, Asker: "here", Asked: now, Expires: now.Add(time.Hour), Body: []byte("{}")}
			_, _, err := a.Add(ctx, row, math.MaxInt, math.MaxInt)
			return func(ctx context.Context, s *store.Store, number, step int) (any, func() (any, error)) {
				if (number+step)%3 == 0 {
					answer := fmt.Sprintf(`"%d of %d"`, step, number)
					return answer, func() (any, error) { return s.Approvals().Settle(ctx, name, name, "answered", []byte(answer)) }
				}
				return "", func() (any, error) {
					r, _, err := s.Approvals().Get(ctx, name, name)
					return string(r.Answer), err
				}
			}, err
		},
	},
	{
		// Never more than so many requests run, and none is refused while fewer do.
		name: "quota",
		model: porcupine.Model{
			Init: func() any { return uint64(0) },
			Step: func(state, in, out any) (bool, any) {
				has, request := state.(uint64), in.(int)
				bit := uint64(1) << max(request, -request)
				free := bits.OnesCount64(has) < running
				switch {
				case request < 0:
					return true, has &^ bit
				case out == any(unknown{}) && free:
					return true, has | bit
				case out == any(unknown{}):
					return true, has
				case out == any(true):
					return free, has | bit
				default:
					return !free, has
				}
			},
		},
		round: func(_ context.Context, _ *store.Store, name string) (client, error) {
			var mu sync.Mutex
			has := map[int]int{} // the request that a client has running
			return func(ctx context.Context, s *store.Store, number, step int) (any, func() (any, error)) {
				mu.Lock()
				defer mu.Unlock()
				id := func(request int) string { return fmt.Sprint(name, " ", request) }
				if request := has[number]; request > 0 {
					delete(has, number)
					return -request, func() (out any, err error) {
						return true, again(func() error { return s.EndRequest(ctx, id(request)) })
					}
				}
				request := 1 + number*stepsOfClient + step
				return request, func() (any, error) {
					err := s.Admit(ctx, id(request), name, func(_ time.Time, n int, recent []time.Time) ([]time.Time, error) {
						if n >= running {
							return nil, errRefused
						}
						return recent, nil
					})
					if errors.Is(err, errRefused) {
						return false, nil
					}
					if err == nil {
						mu.Lock()
						has[number] = request
						mu.Unlock()
					}
					return true, err
				}
			}, nil
		},
	},
	writerRegister,
	leaseRegister,
}

const clients, stepsOfClient = 6, 8

// A round that takes longer shows nothing: requests that are not renewed end.
const longest = 8 * time.Second

// TestRegisters holds what clients saw of registers, over connections that are cut, to
// what one register would do that they use one after the other.
func TestRegisters(t *testing.T) {
	url := pgtest.StartFor(t)
	var stores []*store.Store
	var proxies []*proxy
	locks := map[*store.Store]*sharedlock.Lock{}
	for range 3 {
		p := newProxy(t, url)
		a, err := archive.Open(t.Context(), archive.Config{URL: strings.Replace(url, p.to, p.addr(), 1)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { a.Close() })
		s, err := store.Open(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		if locks[s], err = sharedlock.Open(t.Context(), a.DB(), filepath.Join(t.TempDir(), "weir.lock"), "", hclog.NewNullLogger()); err != nil {
			t.Fatal(err)
		}
		stores, proxies = append(stores, s), append(proxies, p)
	}
	ended := make(chan struct{})
	var cutting sync.WaitGroup
	cutting.Go(func() {
		for {
			select {
			case <-ended:
				return
			case <-time.After(time.Duration(200+rand.IntN(400)) * time.Millisecond):
			}
			p := proxies[rand.IntN(len(proxies))]
			p.setCut(true)
			takes(20 * time.Millisecond)
			p.setCut(false)
		}
	})
	defer cutting.Wait()
	defer close(ended)
	all := append(slices.Clip(registers), lockRegister(locks))
	wanted := int64(number("WEIR_CLUSTER_OPS", 2000) / len(all))
	for _, r := range all {
		t.Run(r.name, func(t *testing.T) {
			var lanes sync.WaitGroup
			var rounds, operations, lost atomic.Int64
			for lane := range 4 {
				if r.alone && lane > 0 {
					break
				}
				lanes.Go(func() {
					for operations.Load() < wanted && !t.Failed() {
						n := rounds.Add(1)
						began := time.Now()
						history := r.play(t, stores, fmt.Sprint(r.name, n))
						if time.Since(began) > longest { // the store's own clock decides, which no test can stop
							continue
						}
						operations.Add(int64(len(history)))
						for _, o := range history {
							if o.Output == any(unknown{}) {
								lost.Add(1)
							}
						}
						if got := porcupine.CheckOperationsTimeout(r.model, history, 20*time.Second); got != porcupine.Ok {
							t.Errorf("round %d: %v\n%v", n, got, history)
						}
					}
				})
			}
			lanes.Wait()
			t.Logf("%d operations in %d rounds, of %d the outcome is unknown", operations.Load(), rounds.Load(), lost.Load())
		})
	}
}

// again does what may be done again until it succeeds.
func again(do func() error) (err error) {
	testtime.Comes(func() bool { err = do(); return err == nil })
	return err
}

// play lets clients use a register, and returns what they saw.
func (r register) play(t *testing.T, stores []*store.Store, name string) (history []porcupine.Operation) {
	ctx := t.Context()
	var c client
	if err := again(func() (err error) {
		if c, err = r.round(ctx, stores[0], name); err != nil {
			name += "'" // whether that is there is not known
		}
		return err
	}); err != nil {
		t.Error(err)
		return nil
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	var order atomic.Int64 // of calls and returns
	for number := range clients {
		s := stores[number%len(stores)]
		all.Go(func() {
			for step := range stepsOfClient {
				in, do := c(ctx, s, number, step)
				o := porcupine.Operation{ClientId: number, Input: in, Call: order.Add(1)}
				var err error
				o.Output, err = do()
				if o.Return = order.Add(1); err != nil {
					o.Output, o.Return = unknown{}, math.MaxInt64
				}
				mu.Lock()
				history = append(history, o)
				mu.Unlock()
				if err != nil {
					return // what may have happened at any time makes the check long
				}
			}
		})
	}
	all.Wait()
	return history
}
