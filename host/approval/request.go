package approval

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/weirhost/weir/sdk/tool"
)

// An Approver asks a person about calls.
type Approver interface {
	// Approve returns the person's answer. It must return when ctx ends, which is
	// when the request expires or the caller disconnects; the answer then does not
	// count, unless it was given before. It is called concurrently for several
	// calls. On an error the call does not run. ErrNoPerson means that no person
	// is available; other errors are logged.
	Approve(ctx context.Context, r Request) (Answer, error)
}

// The errors of an Approver.
var (
	// ErrNoPerson says that there is no person to ask.
	ErrNoPerson = errors.New("no person is available to ask")
	// ErrLater says that the caller makes the call again when a person has answered.
	ErrLater = errors.New("the answer comes later")
)

// A Request is one call that waits for a person's answer.
type Request struct {
	Principal    string
	Conversation string
	CallID       string
	Tool, Plugin string
	// Identity is that of the Subject.
	Identity string
	// Args are the exact bytes that the guest reads.
	Args json.RawMessage
	// Calls are the calls of a script that this one Request asks about, all of which Args
	// has, and Script is its source. Empty: the Request is about one call.
	Calls  []ScriptCall
	Script string
	// Why says what the tool can do and which setting asks for approval. Always
	// says which calls the answer Always covers. Both are one line in Locale.
	Why, Always string
	Locale      tool.Locale
	Expires     time.Time
}

// A ScriptCall is one of the calls that a Request asks about.
type ScriptCall struct {
	// Number names it in an Answer.
	Number int    `json:"number"`
	Tool   string `json:"tool"`
	// Args are the arguments as the script wrote them; a result in them is a reference.
	Args json.RawMessage `json:"arguments"`
	// From says where arguments come from, by their names or JSON pointers.
	From map[string]string `json:"from,omitempty"`
}

// An Answer is a person's answer to a Request. The zero Answer refuses.
type Answer struct {
	Verdict Verdict
	// Only are the numbers of those of the Request's Calls that it allows; the others are
	// denied. Nil: it is for all.
	Only []int
	// By is the name of the person, for the log.
	By string
}

// Allows reports whether it allows the call with a number.
func (a Answer) Allows(number int) bool {
	return (a.Verdict == Once || a.Verdict == Always) && (a.Only == nil || slices.Contains(a.Only, number))
}

// A Verdict says whether a call runs.
type Verdict int

// The verdicts. Always allows similar calls in the same conversation, until the
// host closes or anything about the tool or its permissions changes.
const (
	Refuse Verdict = iota
	Once
	Always
)
