package api

import (
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// A TraceHead is the summary of one turn.
type TraceHead struct {
	// ID names the trace; a later turn has a greater one.
	ID           int64        `json:"id,omitempty"`
	Conversation string       `json:"conversation_id"`
	Turn         int          `json:"turn"`
	Question     string       `json:"question"` // its first line, at most 200 characters
	Model        string       `json:"model"`    // that answered
	Profile      string       `json:"profile"`
	Mode         agent.Mode   `json:"mode"` // at the end
	Simulated    bool         `json:"simulated,omitempty"`
	Reason       agent.Reason `json:"reason"`
	Started      time.Time    `json:"started_at"`
	ElapsedMS    int64        `json:"elapsed_ms"`
	// Client is the name of the program with a loop of its own whose request was passed
	// through: PassedThrough is true. Empty: unknown.
	Client        string      `json:"client,omitempty"`
	PassedThrough bool        `json:"passed_through,omitempty"`
	Requests      int         `json:"requests"` // to the model
	Calls         int         `json:"calls"`
	Usage         agent.Usage `json:"usage"`          // as in chat.end
	Cost          *agent.Cost `json:"cost,omitempty"` // absent: unknown
	// ProducedChars counts the characters that tools produced, ShownChars those that
	// the model received.
	ProducedChars int `json:"produced_chars"`
	ShownChars    int `json:"shown_chars"`
}

// A Trace is the record of one turn: each request to the model, its reply, and the
// results of the reply's calls.
type Trace struct {
	TraceHead
	Window int    `json:"window"` // tokens; 0: unknown
	Limit  int    `json:"limit"`  // the agent's, characters of one result
	Why    string `json:"why"`    // the rule that decided the limit
	// Tools are those that the model could call, and Limits the same tools by the limit
	// that decides. Only a question with explain has them.
	Tools  []agent.ToolCost    `json:"tools,omitempty"`
	Limits []plugin.LimitGroup `json:"limits,omitempty"`
	Rounds []TraceRound        `json:"rounds"`
	// Switched are the changes to another model, since the one before failed, and Passed the
	// fallbacks that were not asked.
	Switched []ModelSwitched `json:"switched,omitempty"`
	Passed   []ModelPassed   `json:"passed,omitempty"`
	// Suggested are tools that the question's words have found, best first; absent: none,
	// or every tool is in the prompt.
	Suggested []string `json:"suggested,omitempty"`
	// FoldedChars is how much shorter placeholders made the next request.
	FoldedChars int `json:"folded_chars,omitempty"`
	// Notes say what the turn did otherwise because its provider refused something.
	Notes []tool.Text `json:"notes,omitempty"`
}

// A TraceRound is one request to the model with the calls of its reply. Round 0
// has no request: it contains the calls before the first request.
type TraceRound struct {
	Round int    `json:"round"`
	Model string `json:"model,omitempty"` // that was asked
	// AtMS is when the request began, in milliseconds after the turn. Its calls run when
	// its reply has ended, at AtMS + ElapsedMS.
	AtMS      int64       `json:"at_ms"`
	Sent      agent.Parts `json:"sent"` // estimated
	Usage     agent.Usage `json:"usage"`
	FirstMS   int64       `json:"first_ms"`        // until the first piece of the reply; 0: at once, or no piece came
	ElapsedMS int64       `json:"elapsed_ms"`      // of the request, without its calls
	Error     string      `json:"error,omitempty"` // the code of the failure
	Calls     []TraceCall `json:"calls,omitempty"`
	// Malformed are the calls of the reply that could not be read.
	Malformed []ToolCallMalformed `json:"malformed,omitempty"`
	// FoldedChars is how much shorter placeholders made what follows this round.
	FoldedChars int `json:"folded_chars,omitempty"`
}

// A TraceCall is one call with the counts of its result.
type TraceCall struct {
	ToolCallStart
	OK        bool      `json:"ok"`
	Error     tool.Code `json:"error,omitempty"`
	ElapsedMS int64     `json:"elapsed_ms"` // without WaitedMS
	// WaitedMS is how long the call waited for a person before; 0: it did not.
	WaitedMS int64 `json:"waited_ms,omitempty"`
	Produced int   `json:"produced"` // characters
	Shown    int   `json:"shown"`
	Read     int   `json:"read,omitempty"` // of a result that is cut, notice included
	// Layer, Limit and Unit name the limit that cut the result; empty: nothing is
	// cut.
	Layer      tool.Layer `json:"layer,omitempty"`
	Limit      int        `json:"limit,omitempty"`
	Unit       tool.Unit  `json:"unit,omitempty"`
	KeptUUID   string     `json:"kept_uuid,omitempty"`
	LoadedUUID string     `json:"loaded_uuid,omitempty"`
	Summarized bool       `json:"summarized,omitempty"`
	// Refused are hosts that the tool requested and may not reach.
	Refused []string `json:"refused,omitempty"`
	// Found are the tools that a call of find_tools has found, best first; absent: it
	// found none, or the call is another tool's.
	Found []string `json:"found,omitempty"`
	// FoundRank is the tool's place, from 1, in the list of the turn's first search that
	// found it; absent: none did.
	FoundRank int `json:"found_rank,omitempty"`
	// Calls are those that a script made, in their order.
	Calls []ScriptCall `json:"calls,omitempty"`
	Line  string       `json:"line"`
}

// A TraceList is the answer of GET /api/traces.
type TraceList struct {
	Traces []TraceHead `json:"traces"`
}
