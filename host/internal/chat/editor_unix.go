//go:build linux || darwin || freebsd || netbsd || openbsd

package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/peterh/liner"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/term"
)

// newInput returns a line editor if a person sits at a terminal with a cursor, else
// an input that reads lines. file is that of the history; empty: no history.
func (c *chat) newInput(ctx context.Context, file string) input {
	if !c.Interactive() || !c.Cursor(c.In) || !c.Cursor(c.Out) || c.In != os.Stdin || c.Out != os.Stdout {
		return &plainInput{c.Printer, NewLines(c.In)}
	}
	e, err := newEditor(c.Printer)
	if err != nil {
		return &plainInput{c.Printer, NewLines(c.In)}
	}
	e.SetWordCompleter(func(line string, pos int) (string, []string, string) { return c.complete(ctx, line, pos) })
	if file != "" {
		e.history = openHistory(file)
		for _, line := range e.history.lines {
			e.AppendHistory(line)
		}
	}
	return e
}

// An editor edits lines on the terminal of the process. Between lines keys do not
// echo, and Ctrl-C is a signal.
type editor struct {
	*liner.State
	p       *term.Printer
	keys    *keystream
	pipe    *os.File // to the library
	history *history // nil: none
}

// newEditor starts to use the terminal. The library reads os.Stdin only: it could
// not be interrupted, and could not see where pasted text ends. While it starts, it
// therefore finds the end of a pipe there. It reads the terminal's modes from file
// descriptor 0.
func newEditor(p *term.Printer) (*editor, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	stdin := os.Stdin
	os.Stdin = r
	e := &editor{State: liner.NewLiner(), p: p, pipe: w}
	os.Stdin = stdin
	e.SetCtrlCAborts(true)
	e.SetMultiLineMode(true)
	e.SetBeep(false)
	e.SetTabCompletionStyle(liner.TabPrints)
	e.keys = newKeystream(stdin, func(s string) { fmt.Fprint(p.Err, s) })
	return e, nil
}

func (e *editor) readLine(ctx context.Context, prompt string) (string, error) {
	fmt.Fprint(e.p.Out, "\x1b[?2004h") // the terminal marks pasted text
	e.keys.attach(e.pipe)
	stop := context.AfterFunc(ctx, e.keys.interrupt)
	line, err := e.Prompt(prompt)
	stop()
	e.keys.attach(nil)
	fmt.Fprint(e.p.Out, "\x1b[?2004l")
	switch {
	case errors.Is(err, liner.ErrPromptAborted) || ctx.Err() != nil:
		return "", errInterrupted
	case errors.Is(err, io.EOF):
		fmt.Fprintln(e.p.Out)
		return "", io.EOF
	case err != nil:
		return "", msg.Errorf("the terminal cannot be read: %w", err)
	}
	return strings.ReplaceAll(line, newline, "\n"), nil
}

func (e *editor) answers() Answers { return e.keys }

func (e *editor) addHistory(line string) {
	if e.history == nil {
		return
	}
	line = strings.ReplaceAll(line, "\n", newline)
	e.AppendHistory(line)
	e.history.add(line)
}

func (e *editor) close() {
	_ = e.State.Close() // a terminal that is closed needs no modes
	_ = e.pipe.Close()
}
