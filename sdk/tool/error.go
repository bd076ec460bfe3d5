package tool

import "fmt"

// Code says what kind of failure an Error is; programs branch on it.
type Code string

// The failures a tool call can come to.
const (
	UnknownTool Code = "unknown_tool"
	BadArgs     Code = "bad_args"
	Failed      Code = "failed" // the tool itself says so
	TimedOut    Code = "timed_out"
	OutOfMemory Code = "out_of_memory"
	Trapped     Code = "trapped" // the guest crashed
	TooLarge    Code = "too_large"
	Denied      Code = "denied"
	RateLimited Code = "rate_limited"
	Cancelled   Code = "cancelled"
	Expired     Code = "expired" // an archived result that retention removed
)

// An Error is a tool's failure told to whoever can act on it: usually the
// model. It is data in a Result; the Go error of a call means that the loop
// must stop.
type Error struct {
	Code Code `json:"code"`
	// Msg is one sentence, without stack traces, type names or secrets.
	Msg string `json:"message"`
	// Hint says what to do next; it may be empty.
	Hint string `json:"hint,omitempty"`
}

// Error makes an Error usable as a Go error between the rooms of the host.
func (e *Error) Error() string {
	if e.Hint == "" {
		return fmt.Sprintf("%s: %s", e.Code, e.Msg)
	}
	return fmt.Sprintf("%s: %s (%s)", e.Code, e.Msg, e.Hint)
}

// Errorf makes an Error with a formatted message.
func Errorf(code Code, hint, format string, args ...any) *Error {
	return &Error{Code: code, Msg: fmt.Sprintf(format, args...), Hint: hint}
}
