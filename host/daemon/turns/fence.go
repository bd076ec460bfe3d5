package turns

import "strings"

// A Fence takes the code fence around an answer out of it as it comes. The zero value is at the
// beginning of an answer. It is not safe for concurrent use.
type Fence struct {
	state fenceState
	held  string // may be of the fence
}

type fenceState int

const (
	fenceAhead fenceState = iota // the answer may begin with one
	fenceOpens                   // its first line
	fenceOpen                    // the answer in it
	fenceNone                    // the answer has none
)

const ticks = "```"

// Without returns what of the text so far is for the client now.
func (f *Fence) Without(text string) string {
	if f.state == fenceNone {
		return text
	}
	f.held += text
	if f.state == fenceAhead {
		begin := strings.TrimLeft(f.held, " \t\r\n")
		switch {
		case strings.HasPrefix(begin, ticks):
			f.state, f.held = fenceOpens, begin
		case strings.HasPrefix(ticks, begin):
			return ""
		default:
			f.state = fenceNone
			return f.Rest()
		}
	}
	if f.state == fenceOpens {
		_, body, ok := strings.Cut(f.held, "\n")
		if !ok {
			return ""
		}
		f.state, f.held = fenceOpen, body
	}
	sure := strings.TrimRight(f.held, " \t\r\n`")
	f.held = f.held[len(sure):]
	return sure
}

// Rest returns what is left at the end: the end of a fence is not.
func (f *Fence) Rest() string {
	rest := f.held
	f.held = ""
	if (f.state == fenceOpen || f.state == fenceOpens) && strings.TrimSpace(rest) == ticks {
		return ""
	}
	return rest
}

// Unfenced returns a whole answer as a Fence does its pieces.
func Unfenced(answer string) string {
	var f Fence
	return f.Without(answer) + f.Rest()
}
