package turns

import (
	"strings"
	"sync"
	"time"
)

// behindBy is how long what was streamed of a reply waits until it is stored. With the write
// itself, what is stored is at most a second behind.
const behindBy = 700 * time.Millisecond

// A piece is a part of what was streamed since the last step of a turn. Without an end of the
// turn, all pieces after its last step are the answer that broke off.
type piece struct {
	Turn  int    `json:"turn"`
	After int    `json:"after"` // the number of steps before it
	Text  string `json:"text,omitempty"`
	// Reasoning is what the model thought.
	Reasoning string `json:"reasoning,omitempty"`
}

// pieces collects what is streamed, and passes it on once it has waited for some time: at most
// one piece in that time, and none of what takes less. The zero value passes nothing on. It
// is safe for concurrent use.
type pieces struct {
	mu    sync.Mutex
	text  strings.Builder
	think strings.Builder
	every time.Duration
	timer *time.Timer // runs while something waits
	pass  func()      // nil: nothing is passed on
}

// begin passes pieces on from now on, each in a goroutine of its own.
func (p *pieces) begin(every time.Duration, pass func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.every, p.pass = every, pass
}

// add adds what was streamed.
func (p *pieces) add(text, reasoning string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pass == nil {
		return
	}
	p.text.WriteString(text)
	p.think.WriteString(reasoning)
	if p.timer == nil {
		p.timer = time.AfterFunc(p.every, p.pass)
	}
}

// take returns what waits, and forgets it. What is streamed next waits its own time.
func (p *pieces) take() (text, reasoning string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
	text, reasoning = p.text.String(), p.think.String()
	p.text.Reset()
	p.think.Reset()
	return text, reasoning
}

// back puts what was taken in front of what has come since, to be passed on again.
func (p *pieces) back(text, reasoning string) {
	p.mu.Lock()
	since, thought := p.text.String(), p.think.String()
	p.text.Reset()
	p.think.Reset()
	p.mu.Unlock()
	p.add(text+since, reasoning+thought)
}

// end passes nothing on any more.
func (p *pieces) end() {
	p.mu.Lock()
	p.pass = nil
	p.mu.Unlock()
	p.take()
}
