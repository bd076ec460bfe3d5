package chat

import (
	"bufio"
	"context"
	"io"
	"slices"
	"sync"

	"github.com/weirhost/weir/host/internal/signal"
)

// maxLine bounds one line of input, in bytes.
const maxLine = 4 << 20

// maxTypedAhead bounds the lines that are read before they are needed.
const maxTypedAhead = 1024

// Lines reads whole lines in the background, before they are needed. A line that
// was typed before a question can then be distinguished from its answer. One goroutine
// at a time may call Next.
type Lines struct {
	mu      sync.Mutex
	lines   []string
	ended   bool
	err     error
	changed chan struct{} // each has room for one signal
	room    chan struct{}
}

// NewLines reads r to its end, in the background.
func NewLines(r io.Reader) *Lines {
	k := &Lines{changed: make(chan struct{}, 1), room: make(chan struct{}, 1)}
	go func() {
		sc := bufio.NewScanner(r)
		sc.Buffer(nil, maxLine)
		for sc.Scan() {
			for !k.add(sc.Text()) {
				<-k.room
			}
		}
		k.mu.Lock()
		k.ended, k.err = true, sc.Err()
		k.mu.Unlock()
		signal.One(k.changed)
	}()
	return k
}

// add appends a line and reports whether there was room for it.
func (k *Lines) add(line string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.lines) >= maxTypedAhead {
		return false
	}
	k.lines = append(k.lines, line)
	signal.One(k.changed)
	return true
}

// TypedAhead implements Answers.
func (k *Lines) TypedAhead() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.lines)
}

// Next implements Answers. The lines before it stay.
func (k *Lines) Next(ctx context.Context, after int) (string, bool) {
	for {
		k.mu.Lock()
		if len(k.lines) > after {
			line := k.lines[after]
			k.lines = slices.Delete(k.lines, after, after+1)
			k.mu.Unlock()
			signal.One(k.room)
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

// Err returns why the input ended; nil: it ended in the ordinary way.
func (k *Lines) Err() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.err
}
