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
	// Calls are the calls of a script that this one request asks about, all of which
	// Args has, and Script is its source. Absent: the request is about one call.
	Calls  []ApprovalCall `json:"calls,omitempty"`
	Script string         `json:"script,omitempty"`
	// Why says what the tool can do and which rule requires an approval, Always what
	// the answer "always" covers.
	Why     string    `json:"why"`
	Always  string    `json:"always"`
	Asked   time.Time `json:"asked_at"`
	Expires time.Time `json:"expires_at"`
}

// An ApprovalCall is one of the calls of a script that a request asks about.
type ApprovalCall struct {
	// Number names it in an answer.
	Number int    `json:"number"`
	Tool   string `json:"tool"`
	// Args and LeftOut are as in Approval.
	Args    string `json:"arguments"`
	LeftOut int    `json:"left_out,omitempty"`
	// From says where arguments come from, by their names or JSON pointers:
	// "lines 3-40 of read_file(notes.txt)".
	From map[string]string `json:"from,omitempty"`
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
	// Only are the numbers of the calls that the answer allowed, where it denied others.
	Only []int `json:"only,omitempty"`
}

// An ApprovalList is the answer of GET /api/approvals, the oldest request first.
type ApprovalList struct {
	Approvals []Approval `json:"approvals"`
}

// An Answer is a person's decision.
type Answer struct {
	// Answer is once, always or deny.
	Answer string `json:"answer"`
	// Only are the numbers of the calls of a script that "once" allows; the others are
	// denied. Absent: it allows all.
	Only []int `json:"only,omitempty"`
}

// Answered is the answer of POST /api/approvals/{id}.
type Answered struct {
	ID     string `json:"id"`
	Answer string `json:"answer"`
	Only   []int  `json:"only,omitempty"`
}
