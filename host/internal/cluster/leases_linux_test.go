package cluster

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/anishathalye/porcupine"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/store"
)

// writerRegister is a conversation: one turn at a time may run in it.
var writerRegister = register{
	name: "writer",
	model: porcupine.Model{
		Init: func() any { return 0 },
		Step: func(state, in, out any) (bool, any) {
			has, turn := state.(int), in.(int)
			switch {
			case turn < 0 && has == -turn:
				return true, 0
			case turn < 0:
				return true, has
			case out == any(false):
				return has != 0, has
			case out == any(true):
				return has == 0, turn
			case has == 0:
				return true, turn
			default:
				return true, has
			}
		},
	},
	round: func(ctx context.Context, s *store.Store, name string) (client, error) {
		sc := archive.Scope{Principal: name, Conversation: name}
		c := store.Conversation{ID: name, Principal: name}
		var mu sync.Mutex
		has := map[int]int{} // the turn that a client runs
		return func(ctx context.Context, s *store.Store, number, step int) (any, func() (any, error)) {
			mu.Lock()
			defer mu.Unlock()
			run := func(turn int) *store.Run {
				return &store.Run{Turn: fmt.Sprint(name, " ", turn), Scope: sc, Fence: 1, Ask: []byte("{}")}
			}
			if turn := has[number]; turn > 0 {
				delete(has, number)
				return -turn, func() (out any, err error) {
					r := run(turn)
					return true, again(func() error { // then the turn is gone
						err := s.Finish(s.Fenced(ctx, r.Turn, 1), sc, store.Turn{Run: r})
						if errors.Is(err, store.ErrFenced) {
							return nil
						}
						return err
					})
				}
			}
			turn := 1 + number*stepsOfClient + step
			return turn, func() (any, error) {
				err := s.BeginRun(ctx, c, nil, 1, run(turn), "here")
				if errors.Is(err, store.ErrBusy) {
					return false, nil
				}
				if err == nil {
					mu.Lock()
					has[number] = turn
					mu.Unlock()
				}
				return true, err
			}
		}, s.Begin(ctx, c, []store.Message{{Role: "user"}})
	},
}

// A lease is who owns a turn, and what is written for it.
type lease struct {
	owner   int
	fence   int64
	written uint64 // one bit for each event
}

// The inputs of leaseRegister.
type (
	claimBy struct{ client int }
	writeOf struct {
		event int
		fence int64
	}
	readAll struct{}
)

// leaseRegister is a turn whose daemon is dead: each new owner has a higher fence, and what
// earlier ones write is refused.
var leaseRegister = register{
	name: "lease",
	// A claim takes all turns that are left, also those of other rounds.
	alone: true,
	model: porcupine.Model{
		Init: func() any { return lease{fence: 1, owner: -1} },
		Step: func(state, in, out any) (bool, any) {
			has := state.(lease)
			switch in := in.(type) {
			case claimBy:
				if has.owner == in.client {
					return out == any(unknown{}) || out == any(int64(0)), has
				}
				has.owner, has.fence = in.client, has.fence+1
				return out == any(unknown{}) || out == any(has.fence), has
			case writeOf:
				owns := in.fence == has.fence
				if owns && out != any(false) {
					has.written |= 1 << in.event
				}
				return out == any(unknown{}) || out == any(owns), has
			default:
				return out == any(unknown{}) || out == any(has.written), has
			}
		},
	},
	round: func(ctx context.Context, s *store.Store, name string) (client, error) {
		runs, err := s.Claim(ctx, "those of earlier rounds", math.MaxInt32, "")
		for _, r := range runs {
			err = errors.Join(err, s.EndRun(s.Fenced(ctx, r.Turn, r.Fence), r.Turn))
		}
		if err != nil {
			return nil, err
		}
		r := store.Run{Turn: name, Scope: archive.Scope{Principal: name, Conversation: name}, Ask: []byte("{}")}
		err = s.BeginRun(ctx, store.Conversation{ID: name, Principal: name}, []store.Message{{Role: "user"}}, 0, &r, "a dead one")
		var mu sync.Mutex
		fences := map[int]int64{} // the last that a client had
		return func(ctx context.Context, s *store.Store, number, step int) (any, func() (any, error)) {
			mu.Lock()
			defer mu.Unlock()
			fence, event := fences[number], number*stepsOfClient+step
			switch {
			case fence == 0 || (number+step)%4 == 0:
				return claimBy{number}, func() (any, error) {
					runs, err := s.Claim(ctx, fmt.Sprint("daemon ", number), 16, "")
					mu.Lock()
					defer mu.Unlock()
					for _, r := range runs {
						if r.Turn == name {
							fences[number] = r.Fence
							return r.Fence, err
						}
					}
					return int64(0), err
				}
			case (number+step)%4 == 1:
				return readAll{}, func() (any, error) {
					events, _, err := s.EventsAfter(ctx, name, name, 0)
					written := uint64(0)
					for _, e := range events {
						written |= 1 << (e.First - 1)
					}
					return written, err
				}
			default:
				return writeOf{event, fence}, func() (any, error) {
					err := s.AddEvents(s.Fenced(ctx, name, fence), name, store.Events{First: event + 1, Last: event + 1, Data: []byte("{}")}, false)
					if errors.Is(err, store.ErrFenced) {
						return false, nil
					}
					return true, err
				}
			}
		}, err
	},
}
