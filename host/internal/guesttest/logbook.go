package guesttest

import (
	"cmp"
	"sync"

	"github.com/hashicorp/go-hclog"
)

// A LogBook keeps what is logged. The zero value is empty and ready; it is safe
// for concurrent use.
type LogBook struct {
	// Level is that of the least lines that are kept; 0: Debug.
	Level hclog.Level

	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer.
func (b *LogBook) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text = append(b.text, p...)
	return len(p), nil
}

// String is everything that was written since the last Reset.
func (b *LogBook) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.text)
}

// Reset empties the book.
func (b *LogBook) Reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text = nil
}

// Logger writes lines into the book, without the time.
func (b *LogBook) Logger() hclog.Logger {
	level := cmp.Or(b.Level, hclog.Debug)
	return hclog.New(&hclog.LoggerOptions{Output: b, Level: level, DisableTime: true})
}
