package term

import (
	"io"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// A Spinner is a line on a terminal that says what is in progress, and for how
// long. It disappears before anything else is written. The mutex of the writer to
// the terminal guards it.
type Spinner struct {
	w      io.Writer
	width  func() int
	text   string
	since  time.Time
	drawn  bool
	mu     *sync.Mutex
	done   chan struct{}
	exited chan struct{}
}

// NewSpinner returns a Spinner without a text. It redraws its line every second
// until Close. mu guards the terminal.
func NewSpinner(w io.Writer, width func() int, mu *sync.Mutex) *Spinner {
	s := &Spinner{w: w, width: width, mu: mu, done: make(chan struct{}), exited: make(chan struct{})}
	go func() {
		defer close(s.exited)
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

// Set shows another text, or removes the line if text is empty. The caller holds
// the mutex.
func (s *Spinner) Set(text string) {
	if text == "" {
		s.erase()
		s.text = ""
		return
	}
	if s.text == "" {
		s.since = time.Now()
	}
	s.text = text
	s.draw()
}

// Text returns the text that is shown; empty: none. The caller holds the mutex.
func (s *Spinner) Text() string { return s.text }

func (s *Spinner) draw() {
	if s.text == "" {
		return
	}
	line := "⋯ " + s.text
	if took := time.Since(s.since); took >= time.Second {
		line += " · " + Milliseconds(took.Truncate(time.Second).Milliseconds())
	}
	line = ansi.Truncate(line, max(s.width()-1, 1), "…")
	_, _ = io.WriteString(s.w, "\r\x1b[K\x1b[2m"+line+"\x1b[0m") // the terminal may be closed
	s.drawn = true
}

func (s *Spinner) erase() {
	if s.drawn {
		_, _ = io.WriteString(s.w, "\r\x1b[K") // as in draw
		s.drawn = false
	}
}

// Close removes the line and stops redrawing it. The caller must not hold the
// mutex.
func (s *Spinner) Close() {
	close(s.done)
	<-s.exited
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Set("")
}

// Progress shows a text on a terminal until done is called; update changes the
// text. With JSON, and without a terminal, it shows nothing.
func (p *Printer) Progress(text string) (update func(string), done func()) {
	if p.JSON || !p.Colours(p.Err) {
		return func(string) {}, func() {}
	}
	var mu sync.Mutex
	s := NewSpinner(p.Err, p.Width, &mu)
	update = func(text string) {
		mu.Lock()
		defer mu.Unlock()
		s.Set(text)
	}
	update(text)
	return update, sync.OnceFunc(s.Close)
}
