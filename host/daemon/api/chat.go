package api

import (
	"encoding/json"
	"maps"
	"net/http"

	"github.com/weirhost/weir/agent"
)

// StreamProtocol is the value of the Upgrade header for which GET /api/mcp turns the
// connection into a stream of MCP messages.
const StreamProtocol = "weir-mcp"

// An Ask is the body of POST /api/chat.
type Ask struct {
	// Message is what a person typed, unless it has more than 4,000 characters: a call in it
	// may be made.
	Message string `json:"message"`
	// Attached are texts that follow the message and that no person typed, such as files: a call
	// in them starts nothing. Without a message they are the question.
	Attached []Attachment `json:"attached,omitempty"`
	// Model and Profile name configured ones. Empty: the profile's own model, and
	// the default profile.
	Model   string `json:"model,omitempty"`
	Profile string `json:"profile,omitempty"`
	// Conversation continues a conversation; empty: a new one begins.
	Conversation string `json:"conversation_id,omitempty"`
	// Thread is a thread of the client's own: GET /api/archives finds the archived
	// results of the question by it. At most 200 bytes.
	Thread string `json:"thread_id,omitempty"`
	// LoadUUIDs are archived results of the conversation. Weir loads them for this
	// question as if the model had asked for them; at most 8.
	LoadUUIDs []Load `json:"load_uuids,omitempty"`
	// Without names tools that the model does without for this question; at most 1,000.
	Without []string `json:"without,omitempty"`
	// Approvals says that the client shows approval.asked to a person and sends
	// back the answer. Without it, calls that need an approval do not run.
	Approvals bool `json:"approvals,omitempty"`
	// Explain adds the cost of each tool's description to the turn's trace.
	Explain bool `json:"explain,omitempty"`
	// Resume says that the client reconnects when it loses the stream: the turn
	// then continues for a while without it. Otherwise the turn ends with its client.
	Resume bool `json:"resume,omitempty"`
}

// An Attachment is a text, and the name of the file that it is from; empty: none.
type Attachment struct {
	Name string `json:"name,omitempty"`
	Text string `json:"text"`
}

// A Load is one archived result that a question brings: in JSON its uuid, or an
// object with a uuid and the other arguments of load_tool_history.
type Load struct {
	UUID string
	// Selectors are the object's other members; nil: the whole text is loaded.
	Selectors map[string]json.RawMessage
}

// MarshalJSON returns a JSON string if there are no selectors.
func (l Load) MarshalJSON() ([]byte, error) {
	if len(l.Selectors) == 0 {
		return json.Marshal(l.UUID)
	}
	return l.Args()
}

// UnmarshalJSON reads a string or an object with a uuid.
func (l *Load) UnmarshalJSON(b []byte) error {
	*l = Load{}
	if err := json.Unmarshal(b, &l.UUID); err == nil {
		return nil
	}
	if err := json.Unmarshal(b, &l.Selectors); err != nil {
		return err
	}
	if err := json.Unmarshal(l.Selectors["uuid"], &l.UUID); err != nil {
		return Problemf(http.StatusBadRequest, CodeBadBody, "send a uuid, or an object that has one", `an object of load_uuids has no "uuid"`)
	}
	delete(l.Selectors, "uuid")
	return nil
}

// Args returns the arguments of the call that loads l.
func (l Load) Args() (json.RawMessage, error) {
	id, err := json.Marshal(l.UUID)
	if err != nil {
		return nil, err
	}
	all := map[string]json.RawMessage{}
	maps.Copy(all, l.Selectors)
	all["uuid"] = id
	return json.Marshal(all)
}

// Fits is the answer of POST /api/chat/fits: one entry for each of the loads.
type Fits struct {
	Loads []Fit `json:"loads"`
}

// A Fit says how many characters a load selects, and how many of them the model
// would be shown with the question: the first ones.
type Fit struct {
	UUID  string `json:"uuid"`
	Chars int    `json:"chars"`
	Fits  int    `json:"fits"`
}

// Spent is a part of a turn's usage that is not a reply of the turn's own model.
type Spent struct {
	// For is the purpose: summary, of results; embeddings, vectors for [archive] trigger; or
	// replies, of a model that failed before it had answered.
	For   string      `json:"for"`
	Model string      `json:"model"`
	Usage agent.Usage `json:"usage"`
	Cost  *agent.Cost `json:"cost,omitempty"` // absent: unknown
}

// A ChatEnd closes the stream with the sums of the turn.
type ChatEnd struct {
	Conversation string       `json:"conversation_id"`
	Model        string       `json:"model"` // that answered
	Reason       agent.Reason `json:"reason"`
	Answer       string       `json:"answer"`
	// Sources are the pages that Answer cites as [n], or else the first that the model has
	// read for it; absent: its tools named none.
	Sources   []agent.Source `json:"sources,omitempty"`
	Reasoning string         `json:"reasoning,omitempty"`
	// Error is why the turn failed, as the event error says it; absent: it did not fail.
	Error *Problem `json:"error,omitempty"`
	// Usage covers all requests to models for the question.
	Usage agent.Usage `json:"usage"`
	// Cost is the known part of the cost of Usage, in the currency of the turn's
	// own model; absent: unknown.
	Cost *agent.Cost `json:"cost,omitempty"`
	// Asides are the parts of Usage that are not replies of the turn's own model.
	Asides  []Spent          `json:"asides,omitempty"`
	Rounds  int              `json:"rounds"`
	Calls   int              `json:"calls"`
	Results []ToolCallResult `json:"results,omitempty"`
	// Pending are calls of the client's own tools, which wait for their results;
	// only for /v1.
	Pending       []ToolCallStart `json:"pending,omitempty"`
	ProducedChars int             `json:"produced_chars"`
	ShownChars    int             `json:"shown_chars"`
	KeptChars     int             `json:"kept_chars"`
	agent.Faults
	// Unsaved says that the disk is full: the next question will not know about
	// this one.
	Unsaved   bool  `json:"unsaved,omitempty"`
	ElapsedMS int64 `json:"elapsed_ms"`
}
