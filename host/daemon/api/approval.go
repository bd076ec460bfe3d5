package api

import "time"

// The answers to a request for approval.
const (
	AnswerOnce   = "once"
	AnswerAlways = "always"
	AnswerDeny   = "deny"
)

// An Approval is a call that waits for a person's decision. All its texts are safe
// to show on a terminal and a page.
type Approval struct {
	ID           string `json:"id"`
	Conversation string `json:"conversation_id"`
	CallID       string `json:"call_id"`
	Tool         string `json:"tool"`
	Plugin       string `json:"plugin,omitempty"`
	// Args are the arguments as indented JSON, with invisible characters escaped.
	// LeftOut counts the characters missing from the middle; the request's own
	// route returns all of them.
	Args    string `json:"arguments"`
	LeftOut int    `json:"left_out,omitempty"`
	// Why says what the tool can do and which rule requires an approval, Always what
	// the answer "always" covers.
	Why     string    `json:"why"`
	Always  string    `json:"always"`
	Asked   time.Time `json:"asked_at"`
	Expires time.Time `json:"expires_at"`
}

// An ApprovalWaiting reports in a stream that a request is still open.
type ApprovalWaiting struct {
	ID          string `json:"id"`
	CallID      string `json:"call_id"`
	SecondsLeft int    `json:"seconds_left"`
}

// An ApprovalAnswered reports in a stream how a request ended: with an answer, or
// with the reason that there is none, such as "expired" or "gone".
type ApprovalAnswered struct {
	ID     string `json:"id"`
	CallID string `json:"call_id"`
	Answer string `json:"answer"`
}

// An ApprovalList is the answer of GET /api/approvals, the oldest request first.
type ApprovalList struct {
	Approvals []Approval `json:"approvals"`
}

// An Answer is a person's decision.
type Answer struct {
	// Answer is once, always or deny.
	Answer string `json:"answer"`
}

// Answered is the answer of POST /api/approvals/{id}.
type Answered struct {
	ID     string `json:"id"`
	Answer string `json:"answer"`
}
