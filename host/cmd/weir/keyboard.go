package main

import (
	"bufio"
	"context"
	"io"
	"slices"
	"sync"
)

// typedAhead bounds the lines that are read before anybody wants them.
const typedAhead = 1024

// A keyboard reads lines ahead of who wants them, so that what was typed before
// a question is not taken for its answer. One goroutine at a time may take.
type keyboard struct {
	mu      sync.Mutex
	lines   []string
	ended   bool
	err     error
	changed chan struct{} // each holds one
	room    chan struct{}
}

// newKeyboard reads r to its end, in the background.
func newKeyboard(r io.Reader) *keyboard {
	k := &keyboard{changed: make(chan struct{}, 1), room: make(chan struct{}, 1)}
	go func() {
		sc := bufio.NewScanner(r)
		sc.Buffer(nil, maxInput)
		for sc.Scan() {
			for !k.add(sc.Text()) {
				<-k.room
			}
		}
		k.mu.Lock()
		k.ended, k.err = true, sc.Err()
		k.mu.Unlock()
		wake(k.changed)
	}()
	return k
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// add keeps a line, if there is room.
func (k *keyboard) add(line string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.lines) >= typedAhead {
		return false
	}
	k.lines = append(k.lines, line)
	wake(k.changed)
	return true
}

// ahead is how many lines were typed and not taken yet.
func (k *keyboard) ahead() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.lines)
}

// take returns the first line behind those that were ahead, which stay. false:
// the input or ctx has ended.
func (k *keyboard) take(ctx context.Context, ahead int) (string, bool) {
	for {
		k.mu.Lock()
		if len(k.lines) > ahead {
			line := k.lines[ahead]
			k.lines = slices.Delete(k.lines, ahead, ahead+1)
			k.mu.Unlock()
			wake(k.room)
			return line, true
		}
		ended := k.ended
		k.mu.Unlock()
		if ended {
			return "", false
		}
		select {
		case <-k.changed:
		case <-ctx.Done():
			return "", false
		}
	}
}

// failure is why the input ended, if not by its end.
func (k *keyboard) failure() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.err
}
