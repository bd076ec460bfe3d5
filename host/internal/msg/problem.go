package msg

import (
	"github.com/weirhost/weir/sdk/tool"
)

// The codes of a Problem that commands share.
const (
	// Usage says that a flag, an argument or the configuration is wrong.
	Usage = "usage"
	// Storage says that the data folder cannot be read or written.
	Storage = "storage"
)

// A Problem is an error for a person, with the way to fix it.
type Problem struct {
	// Code says what kind of problem it is; programs branch on it.
	Code string
	// Text is one sentence.
	Text tool.Text
	// Hint says how to fix it. Zero: there is no hint.
	Hint tool.Text
}

// Problemf returns a Problem. Hint and format are English and the keys of their
// translations; an empty hint means that there is none.
func Problemf(code, hint, format string, args ...any) *Problem {
	return &Problem{code, tool.Textf(format, args...), tool.Text{Format: hint}}
}

// Usagef returns a Problem with the code Usage.
func Usagef(hint, format string, args ...any) *Problem {
	return Problemf(Usage, hint, format, args...)
}

// Error returns the sentence in English, without the hint.
func (p *Problem) Error() string { return p.Text.String() }

// MsgText returns the sentence.
func (p *Problem) MsgText() tool.Text { return p.Text }

// WithHint replaces the hint, for hints with arguments. It returns p.
func (p *Problem) WithHint(format string, args ...any) *Problem {
	p.Hint = tool.Textf(format, args...)
	return p
}
