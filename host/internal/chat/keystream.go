package chat

import (
	"context"
	"io"
	"os"
	"sync"
)

// A keystream passes what a person types to its current reader: the editor of a
// line, or the question whether a call may run. Keys that no reader has asked for
// go to the next line. It is safe for concurrent use.
type keystream struct {
	mu     sync.Mutex
	buffer []byte   // for the next line
	editor *os.File // the current editor; nil: none
	paste  paste
	asked  chan string    // receives the line of an answer; nil: no question is open
	typed  []byte         // of that line
	echo   func(s string) // shows it
	ended  bool
	done   chan struct{} // closed at the end
}

// The keys that an editor of lines knows.
const (
	ctrlC      = 3
	endOfInput = 4
)

// newKeystream reads r to its end, in the background. echo shows the keys of an
// answer.
func newKeystream(r io.Reader, echo func(string)) *keystream {
	k := &keystream{echo: echo, done: make(chan struct{})}
	go func() {
		defer close(k.done)
		b := make([]byte, 4096)
		for {
			n, err := r.Read(b)
			k.deliver(b[:n])
			if err != nil {
				k.end()
				return
			}
		}
	}()
	return k
}

func (k *keystream) deliver(b []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case len(b) == 0:
	case k.asked != nil:
		k.answer(b)
	case k.editor != nil:
		_, _ = k.editor.Write(k.paste.translate(b)) // an editor that has ended does not read it
	default:
		k.buffer = append(k.buffer, b...)
	}
}

func (k *keystream) end() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ended = true
	if k.editor != nil {
		_, _ = k.editor.Write([]byte{endOfInput}) // as in deliver
	}
}

// attach passes the keys to an editor, those in the buffer first; nil detaches it.
func (k *keystream) attach(editor *os.File) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.editor = editor; editor == nil {
		return
	}
	if len(k.buffer) > 0 {
		_, _ = editor.Write(k.paste.translate(k.buffer)) // as in deliver
		k.buffer = nil
	}
	if k.ended {
		_, _ = editor.Write([]byte{endOfInput}) // as in deliver
	}
}

// interrupt ends the editor's line as Ctrl-C does.
func (k *keystream) interrupt() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.editor != nil {
		_, _ = k.editor.Write([]byte{ctrlC}) // as in deliver
	}
}

// TypedAhead implements Answers: keys that were typed before a question never
// answer it.
func (k *keystream) TypedAhead() int { return 0 }

// answer handles the keys of the line that Next waits for. The caller holds the
// mutex.
func (k *keystream) answer(b []byte) {
	if b[0] == '\x1b' { // arrow keys and the like
		return
	}
	for i, key := range b {
		switch {
		case key == '\r' || key == '\n':
			k.asked <- string(k.typed)
			k.asked, k.typed = nil, nil
			k.echo("\n")
			k.buffer = append(k.buffer, b[i+1:]...)
			return
		case key == endOfInput && len(k.typed) == 0:
			close(k.asked)
			k.asked = nil
			return
		case (key == 8 || key == 127) && len(k.typed) > 0:
			k.typed = k.typed[:len(k.typed)-1]
			k.echo("\b \b")
		case key > ' ' && key < 127 && len(k.typed) < 20:
			k.typed = append(k.typed, key)
			k.echo(string(key))
		}
	}
}

// Next implements Answers. It shows the line while it is typed.
func (k *keystream) Next(ctx context.Context, _ int) (string, bool) {
	asked := make(chan string, 1)
	k.mu.Lock()
	k.asked, k.typed = asked, nil
	ended := k.ended
	k.mu.Unlock()
	defer func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.asked = nil
	}()
	if ended {
		return "", false
	}
	select {
	case line, ok := <-asked:
		return line, ok
	case <-ctx.Done():
	case <-k.done:
	}
	return "", false
}
