//go:build linux || darwin || freebsd || netbsd || openbsd

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/peterh/liner"
)

// typist is an editor of lines where there is a person at a terminal that can
// show one, and else a reader of lines.
func (c *cli) typist(ctx context.Context, t *talk, history bool) typist {
	if !c.Interactive() || !c.Cursor(c.In) || !c.Cursor(c.Out) || c.In != os.Stdin || c.Out != os.Stdout {
		return plainTypist{c, newKeyboard(c.In)}
	}
	e, err := newEditor(c)
	if err != nil {
		return plainTypist{c, newKeyboard(c.In)}
	}
	e.SetWordCompleter(func(line string, pos int) (string, []string, string) { return t.completed(ctx, line, pos) })
	if history {
		e.history = c.openHistory()
		for _, line := range e.history.lines {
			e.AppendHistory(line)
		}
	}
	return e
}

// An editor edits lines on the process's terminal. Between lines keys do not
// echo, and Ctrl-C is a signal.
type editor struct {
	*liner.State
	c       *cli
	keys    *keystream
	pipe    *os.File // to the library
	history *history // nil: nothing is kept
}

// newEditor takes the terminal. The library reads os.Stdin and nothing else,
// and so could neither be told to stop, nor of pastes; what it finds there while
// it is made is the end of a pipe. The terminal's modes it asks of file 0.
func newEditor(c *cli) (*editor, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	stdin := os.Stdin
	os.Stdin = r
	e := &editor{State: liner.NewLiner(), c: c, pipe: w}
	os.Stdin = stdin
	e.SetCtrlCAborts(true)
	e.SetMultiLineMode(true)
	e.SetBeep(false)
	e.SetTabCompletionStyle(liner.TabPrints)
	e.keys = newKeystream(stdin, func(s string) { fmt.Fprint(c.Err, s) })
	return e, nil
}

// line implements typist.
func (e *editor) line(ctx context.Context, prompt string) (string, error) {
	fmt.Fprint(e.c.Out, "\x1b[?2004h") // pastes are marked
	e.keys.lend(e.pipe)
	stop := context.AfterFunc(ctx, e.keys.stop)
	line, err := e.Prompt(prompt)
	stop()
	e.keys.lend(nil)
	fmt.Fprint(e.c.Out, "\x1b[?2004l")
	switch {
	case errors.Is(err, liner.ErrPromptAborted) || ctx.Err() != nil:
		return "", errStopped
	case errors.Is(err, io.EOF):
		fmt.Fprintln(e.c.Out)
		return "", io.EOF
	case err != nil:
		return "", fmt.Errorf("the terminal cannot be read: %w", err)
	}
	return strings.ReplaceAll(line, newline, "\n"), nil
}

func (e *editor) answers() answerer { return e.keys }

func (e *editor) remember(line string) {
	if e.history == nil {
		return
	}
	line = strings.ReplaceAll(line, "\n", newline)
	e.AppendHistory(line)
	e.history.add(line)
}

func (e *editor) close() {
	_ = e.State.Close() // a terminal that is gone needs no modes
	_ = e.pipe.Close()
}
