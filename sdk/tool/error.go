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
	Quoted      Code = "quoted"  // a call that repeats a text of the conversation; it did not run
	// OutcomeUnknown is that of a script's call that was under way when weir was stopped: it
	// may have happened, and is not repeated.
	OutcomeUnknown Code = "outcome_unknown"
	// Waiting is that of a script that goes on when a person has answered, or weir starts.
	Waiting Code = "waiting"
)

// An Error is the failure of a tool call, as data for the model. A Go error from
// a call means that the loop must stop; an Error does not.
type Error struct {
	Code Code `json:"code"`
	// Msg is one sentence, without stack traces, type names or secrets.
	Msg string `json:"message"`
	// Hint says what to do next; it may be empty.
	Hint string `json:"hint,omitempty"`
	// MsgText and HintText are Msg and Hint with their arguments still apart, for
	// showing them in another language. Zero: Msg and Hint have one language only,
	// such as the words of a guest.
	MsgText  Text `json:"-"`
	HintText Text `json:"-"`
	// InText says that Msg is the beginning of the result's text, on one line: who shows the
	// text need not show Msg.
	InText bool `json:"-"`
}

// Error returns the code, the sentence and the hint in one line.
func (e *Error) Error() string {
	if e.Hint == "" {
		return fmt.Sprintf("%s: %s", e.Code, e.Msg)
	}
	return fmt.Sprintf("%s: %s (%s)", e.Code, e.Msg, e.Hint)
}

// Errorf returns an Error with a formatted message. Hint and format are English
// and the keys of their translations.
func Errorf(code Code, hint, format string, args ...any) *Error {
	return NewError(code, Textf(format, args...), Text{Format: hint})
}

// Zh gives e its hint and its sentence in Chinese and returns e. The format takes the
// arguments of the English one; a hint has none.
func (e *Error) Zh(hint, format string) *Error {
	e.MsgText.Zh, e.HintText.Zh = format, hint
	return e
}

// In returns the sentence and the hint in the language l, in English where there is no
// Chinese.
func (e *Error) In(l Locale) (msg, hint string) {
	msg, hint = e.Msg, e.Hint
	if l == Zh && e.MsgText.Zh != "" {
		msg, hint = e.MsgText.In(l), e.HintText.In(l)
	}
	return msg, hint
}

// NewError returns an Error of two Texts. A zero hint means that there is none.
func NewError(code Code, msg, hint Text) *Error {
	return &Error{Code: code, Msg: msg.String(), Hint: hint.String(), MsgText: msg, HintText: hint}
}
