package approval

import (
	"context"
	"encoding/json"
	"errors"
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
	// Why says what the tool can do and which setting asks for approval. Always
	// says which calls the answer Always covers. Both are one line in Locale.
	Why, Always string
	Locale      tool.Locale
	Expires     time.Time
}

// An Answer is a person's answer to a Request. The zero Answer refuses.
type Answer struct {
	Verdict Verdict
	// By is the name of the person, for the log.
	By string
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
