// Package term writes to a person's terminal, and asks there. An Env holds the
// streams and the environment of one command; tests bring their own. A Printer
// writes sentences to it in the language of the reader, or JSON for a program.
// The other files hold what several commands show: tables, sizes, durations, text
// that cannot steer the terminal, and a spinner while something runs.
package term

import (
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// An Env is what a command reads, writes and finds in its environment.
type Env struct {
	In       io.Reader
	Out, Err io.Writer
	// Lookup finds an environment variable. Nil: there are none.
	Lookup func(name string) (string, bool)
	// Interrupted is closed when the person interrupts the command, which ends a question. If
	// nil, nobody does.
	Interrupted <-chan struct{}
}

// Getenv returns an environment variable, or "" if it is not set.
func (e *Env) Getenv(name string) string {
	if e.Lookup == nil {
		return ""
	}
	v, _ := e.Lookup(name)
	return v
}

// IsTerminal reports whether v is a file that is a terminal.
func IsTerminal(v any) bool {
	f, ok := v.(*os.File)
	if !ok {
		return false
	}
	st, err := f.Stat()
	return err == nil && st.Mode()&os.ModeCharDevice != 0 && st.Mode()&os.ModeDevice != 0
}

// Cursor reports whether w is a terminal on which a cursor can be moved.
func (e *Env) Cursor(w any) bool { return IsTerminal(w) && e.Getenv("TERM") != "dumb" }

// Colours reports whether w is a terminal that shows colours and whether the
// environment allows them.
func (e *Env) Colours(w any) bool { return e.Cursor(w) && e.Getenv("NO_COLOR") == "" }

// Faint returns s in a less prominent style if standard error shows colours.
func (e *Env) Faint(s string) string {
	if s == "" || !e.Colours(e.Err) {
		return s
	}
	return "\x1b[2m" + s + "\x1b[0m"
}

// Width returns the number of columns of the terminal, 80 without a terminal.
func (e *Env) Width() int {
	for _, v := range []any{e.Err, e.Out} {
		if f, ok := v.(*os.File); ok {
			if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
				return w
			}
		}
	}
	return 80
}

// TableWidth returns the width of tables on standard output: that of a terminal,
// elsewhere without a bound.
func (e *Env) TableWidth() int {
	if IsTerminal(e.Out) {
		return e.Width()
	}
	return 1 << 20
}

// maxAnswer bounds the answer to one question, in bytes.
const maxAnswer = 4096

// Ask writes a question to standard error and reads one line. answered is false if
// the input ends without one, or the person interrupts.
func (e *Env) Ask(question string) (answer string, answered bool) {
	_, _ = io.WriteString(e.Err, question)
	type read struct {
		line string
		ok   bool
	}
	lines := make(chan read, 1)
	go func() {
		line, ok := e.readLine()
		lines <- read{line, ok}
	}()
	select {
	case r := <-lines:
		answer, answered = r.line, r.ok
	case <-e.Interrupted: // the goroutine ends with the process
	}
	select {
	case <-e.Interrupted:
		answer, answered = "", false
	default:
	}
	if !answered {
		_, _ = io.WriteString(e.Err, "\n")
	}
	return answer, answered
}

// readLine reads byte by byte: the bytes after the line belong to the next question.
func (e *Env) readLine() (line string, ended bool) {
	var text []byte
	one := make([]byte, 1)
	for len(text) < maxAnswer {
		n, err := e.In.Read(one)
		switch {
		case n == 1 && one[0] == '\n':
			return strings.TrimSpace(string(text)), true
		case n == 1:
			text = append(text, one[0])
		case err != nil:
			return strings.TrimSpace(string(text)), len(text) > 0
		}
	}
	return "", false
}
