package parse

import "unicode/utf8"

// An output is what has been made of the input: the events, and the text that goes out
// or is still held.
type output struct {
	in        *input
	sent      int // what lies before has been emitted, or belongs to a call
	hold      int // text from here on may still become a call
	events    []Event
	text      []byte // text that has been emitted and is not yet an event
	reasoning bool   // that text is reasoning
}

// release emits the text up to end, which must be after what was sent, and returns it.
func (o *output) release(end int) (text []byte, reasoning bool) {
	text = o.in.buf[o.sent:end]
	o.sent = end
	reasoning = o.in.mode == inThought
	if reasoning != o.reasoning {
		o.settle()
	}
	o.reasoning = reasoning
	o.text = append(o.text, text...)
	return text, reasoning
}

// take returns the events since the last take.
func (o *output) take() []Event {
	o.settle()
	events := o.events
	o.events = nil
	return events
}

// forget follows input.forget.
func (o *output) forget(n int) { o.sent -= n }

// wholeRunes returns the largest offset up to n that does not split a rune.
func (o *output) wholeRunes(n int) int {
	for i := n - 1; i >= max(o.sent, n-utf8.UTFMax+1); i-- {
		if utf8.RuneStart(o.in.buf[i]) {
			if !utf8.FullRune(o.in.buf[i:n]) {
				return i
			}
			break
		}
	}
	return n
}

// settle makes an event of the text that has been emitted.
func (o *output) settle() {
	switch {
	case len(o.text) == 0:
		return
	case o.reasoning:
		o.events = append(o.events, Reasoning{string(o.text)})
	default:
		o.events = append(o.events, Text{string(o.text)})
	}
	o.text = o.text[:0]
}

// emit emits an event other than text.
func (o *output) emit(e Event) {
	o.settle()
	o.events = append(o.events, e)
}

// drop gives up the text up to end: it is a marker, not text.
func (o *output) drop(end int) {
	o.sent = max(o.sent, end)
}

// undecided stops the scan; text from i on is held.
func (o *output) undecided(i int) bool {
	o.hold = i
	return false
}
