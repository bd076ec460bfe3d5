package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// newline stands for a line's end in a line that is being edited.
const newline = "⏎"

// The marks that a terminal puts around what is pasted.
const (
	pasteBegins = "\x1b[200~"
	pasteEnds   = "\x1b[201~"
)

// A keystream is what a person types, as it comes, on its way to whoever wants
// it: the editor of a line, or the question whether a call may run. What nobody
// wants yet waits for the next line. It is safe for concurrent use.
type keystream struct {
	mu      sync.Mutex
	waiting []byte   // for the next line
	editor  *os.File // that takes them now; nil: none
	pasted  paste
	asked   chan string    // for the line of an answer; nil: nobody asked
	said    []byte         // of that line
	echo    func(s string) // shows it
	ended   bool
	done    chan struct{} // closed at the end
}

// newKeystream reads r to its end, in the background. echo shows what is typed
// where nothing else does.
func newKeystream(r io.Reader, echo func(string)) *keystream {
	k := &keystream{echo: echo, done: make(chan struct{})}
	go func() {
		defer close(k.done)
		b := make([]byte, 4096)
		for {
			n, err := r.Read(b)
			k.typed(b[:n])
			if err != nil {
				k.end()
				return
			}
		}
	}()
	return k
}

func (k *keystream) typed(b []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case len(b) == 0:
	case k.asked != nil:
		k.answer(b)
	case k.editor != nil:
		_, _ = k.editor.Write(k.pasted.translate(b)) // an editor that has ended reads no more
	default:
		k.waiting = append(k.waiting, b...)
	}
}

func (k *keystream) end() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ended = true
	if k.editor != nil {
		_, _ = k.editor.Write([]byte{endOfInput}) // as above
	}
}

// The keys that an editor of lines knows.
const (
	ctrlC      = 3
	endOfInput = 4
)

// lend gives what is typed to an editor, from what waits on; take it back with
// nil.
func (k *keystream) lend(editor *os.File) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.editor = editor; editor == nil {
		return
	}
	if len(k.waiting) > 0 {
		_, _ = editor.Write(k.pasted.translate(k.waiting)) // as above
		k.waiting = nil
	}
	if k.ended {
		_, _ = editor.Write([]byte{endOfInput}) // as above
	}
}

// stop ends the editor's line, as Ctrl-C does.
func (k *keystream) stop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.editor != nil {
		_, _ = k.editor.Write([]byte{ctrlC}) // as above
	}
}

// ahead implements answerer: what was typed before a question never comes to it.
func (k *keystream) ahead() int { return 0 }

// answer takes keys for the line that take waits for. The caller holds the mutex.
func (k *keystream) answer(b []byte) {
	if b[0] == '\x1b' { // arrows and the like
		return
	}
	for i, key := range b {
		switch {
		case key == '\r' || key == '\n':
			k.asked <- string(k.said)
			k.asked, k.said = nil, nil
			k.echo("\n")
			k.waiting = append(k.waiting, b[i+1:]...)
			return
		case key == endOfInput && len(k.said) == 0:
			close(k.asked)
			k.asked = nil
			return
		case (key == 8 || key == 127) && len(k.said) > 0:
			k.said = k.said[:len(k.said)-1]
			k.echo("\b \b")
		case key > ' ' && key < 127 && len(k.said) < 20:
			k.said = append(k.said, key)
			k.echo(string(key))
		}
	}
}

// take implements answerer: the next line that is typed, and shown as it is.
func (k *keystream) take(ctx context.Context, _ int) (string, bool) {
	asked := make(chan string, 1)
	k.mu.Lock()
	k.asked, k.said = asked, nil
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

// A paste turns what a terminal sends into what an editor of one line takes: the
// ends of pasted lines, and Alt-Enter, become a visible mark.
type paste struct {
	inside bool
	held   []byte // the beginning of a mark that is not whole yet
	ends   int    // of lines, that are written when more follows
}

func (p *paste) translate(b []byte) []byte {
	b = append(p.held, b...)
	p.held = nil
	var out bytes.Buffer
	for len(b) > 0 {
		rest, ok := p.next(&out, b)
		if !ok {
			p.held = bytes.Clone(b)
			break
		}
		b = rest
	}
	return out.Bytes()
}

// next takes one key or mark off b; false: it is not whole yet.
func (p *paste) next(out *bytes.Buffer, b []byte) (rest []byte, ok bool) {
	mark := pasteBegins
	if p.inside {
		mark = pasteEnds
	}
	switch {
	case bytes.HasPrefix(b, []byte(mark)):
		p.inside, p.ends = !p.inside, 0 // the last line's end is not part of a question
		return b[len(mark):], true
	case (len(b) > 1 || p.inside) && strings.HasPrefix(mark, string(b)):
		return b, false
	case !p.inside && len(b) > 1 && b[0] == '\x1b' && (b[1] == '\r' || b[1] == '\n'):
		out.WriteString(newline)
		return b[2:], true
	case !p.inside:
		out.WriteByte(b[0])
		return b[1:], true
	case !utf8.FullRune(b):
		return b, false
	}
	r, n := utf8.DecodeRune(b)
	switch {
	case r == '\r' && len(b) > 1 && b[1] == '\n':
		p.ends++
		n = 2
	case r == '\r' || r == '\n':
		p.ends++
	case r == '\t':
		p.write(out, "    ") // a tab would ask for completions
	case !unicode.IsControl(r):
		p.write(out, string(r))
	}
	return b[n:], true
}

func (p *paste) write(out *bytes.Buffer, s string) {
	out.WriteString(strings.Repeat(newline, p.ends) + s)
	p.ends = 0
}
