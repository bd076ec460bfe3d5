package main

import (
	"io"
	"os"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"

	"github.com/weirhost/weir/sdk/tool"
)

// A status is a line on a terminal that comes and goes: what is being waited
// for, and for how long. All of it is guarded by the mutex of whoever writes
// to the terminal.
type status struct {
	w     io.Writer
	width func() int
	text  string
	since time.Time
	drawn bool
	mu    *sync.Mutex
	done  chan struct{}
	gone  chan struct{}
}

// newStatus draws every second until close. mu guards the terminal.
func newStatus(w io.Writer, width func() int, mu *sync.Mutex) *status {
	s := &status{w: w, width: width, mu: mu, done: make(chan struct{}), gone: make(chan struct{})}
	go func() {
		defer close(s.gone)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				mu.Lock()
				s.draw()
				mu.Unlock()
			case <-s.done:
				return
			}
		}
	}()
	return s
}

// working shows on a terminal what takes long, until done is called; elsewhere
// it shows nothing. tell changes the text.
func (c *cli) working(text string) (tell func(string), done func()) {
	if c.json || !c.colours(c.err) {
		return func(string) {}, func() {}
	}
	var mu sync.Mutex
	s := newStatus(c.err, c.width, &mu)
	tell = func(text string) {
		mu.Lock()
		defer mu.Unlock()
		s.set(text)
	}
	tell(text)
	return tell, sync.OnceFunc(s.close)
}

// set shows another text, or none. The caller holds the mutex.
func (s *status) set(text string) {
	if text == "" {
		s.wipe()
		s.text = ""
		return
	}
	if s.text == "" {
		s.since = time.Now()
	}
	s.text = text
	s.draw()
}

func (s *status) draw() {
	if s.text == "" {
		return
	}
	line := "⋯ " + s.text
	if took := time.Since(s.since); took >= time.Second {
		line += " · " + seconds(took.Truncate(time.Second).Milliseconds())
	}
	line = ansi.Truncate(line, max(s.width()-1, 1), "…")
	_, _ = io.WriteString(s.w, "\r\x1b[K\x1b[2m"+line+"\x1b[0m") // a closed terminal: there is nobody to tell
	s.drawn = true
}

func (s *status) wipe() {
	if s.drawn {
		_, _ = io.WriteString(s.w, "\r\x1b[K") // as above
		s.drawn = false
	}
}

// close takes the line away for good. The caller does not hold the mutex.
func (s *status) close() {
	close(s.done)
	<-s.gone
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set("")
}

// moves reports whether w is a terminal on which a cursor can be moved.
func (c *cli) moves(w any) bool { return isTerminal(w) && c.getenv("TERM") != "dumb" }

// colours reports whether w is a terminal that takes colours, and wants them.
func (c *cli) colours(w any) bool { return c.moves(w) && c.getenv("NO_COLOR") == "" }

// faint makes s less loud on stderr, where that can be.
func (c *cli) faint(s string) string {
	if s == "" || !c.colours(c.err) {
		return s
	}
	return "\x1b[2m" + s + "\x1b[0m"
}

// width is how many columns the terminal has; 80 where there is none.
func (c *cli) width() int {
	for _, v := range []any{c.err, c.out} {
		if f, ok := v.(*os.File); ok {
			if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
				return w
			}
		}
	}
	return 80
}

// say gives the text in the language of whoever reads it.
func (c *cli) say(en, zh string) string {
	if c.language() == tool.Zh {
		return zh
	}
	return en
}

// language is that of --lang, else the configuration's, else the environment's,
// else English. A configuration that cannot be read says nothing here.
func (c *cli) language() tool.Locale {
	if c.spoken == "" {
		switch c.lang {
		case string(tool.En), string(tool.Zh):
			c.spoken = tool.Locale(c.lang)
		default:
			var s Settings
			c.spoken = c.locale(s) // of what is wrong with the configuration
			if p, err := c.findPaths(); err == nil {
				s, _, _ = c.quietly().settings(p)
			}
			c.spoken = c.locale(s)
		}
	}
	return c.spoken
}
