package api

import (
	"encoding/json"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// The events of /api/chat, in the order they can come: chat.start, then deltas and
// tool calls, then chat.end. approval.asked and approval.answered come between a
// call's start and its result, if a person has to allow it. An error event comes
// directly before chat.end.
const (
	EventStart     = "chat.start"
	EventText      = "message.delta"
	EventThought   = "reasoning.delta"
	EventCall      = "tool_call.start"
	EventResult    = "tool_call.result"
	EventTruncated = "tool_call.truncated"
	EventArchived  = "tool_call.archived"
	EventProgress  = "tool_call.progress" // while a call runs
	EventMalformed = "tool_call.malformed"
	EventMode      = "mode.switched"
	EventRepeated  = "model.repeated" // the provider failed and weir will ask it again
	EventSwitched  = "model.switched" // another model answers, since the one before failed
	EventPassed    = "model.passed"   // a fallback is not asked
	EventProbing   = "model.probing"  // the model is asked whether it can call tools; may come before chat.start
	EventFolded    = "context.folded"
	EventRecalled  = "context.recalled"
	EventPlan      = "plan"
	EventBudget    = "budget"
	EventError     = "error"
	EventEnd       = "chat.end"
	EventAsked     = "approval.asked"
	EventWaiting   = "approval.waiting" // from time to time, as a sign of life
	EventAnswered  = "approval.answered"
	EventMissed    = "chat.missed" // before the remaining events of a resumed stream
)

// EventData returns a zero value of the data of each event of all streams.
func EventData() map[string]any {
	return map[string]any{
		EventStart:       ChatStart{},
		EventText:        TextPiece{},
		EventThought:     TextPiece{},
		EventCall:        ToolCallStart{},
		EventResult:      ToolCallResult{},
		EventTruncated:   ToolCallTruncated{},
		EventArchived:    ToolCallArchived{},
		EventProgress:    ToolCallProgress{},
		EventMalformed:   ToolCallMalformed{},
		EventMode:        ModeSwitched{},
		EventRepeated:    ModelRepeated{},
		EventSwitched:    ModelSwitched{},
		EventPassed:      ModelPassed{},
		EventProbing:     ModelProbing{},
		EventFolded:      Folded{},
		EventRecalled:    Recalled{},
		EventPlan:        Plan{},
		EventBudget:      Budget{},
		EventError:       Problem{},
		EventEnd:         ChatEnd{},
		EventAsked:       Approval{},
		EventWaiting:     ApprovalWaiting{},
		EventAnswered:    ApprovalAnswered{},
		EventMissed:      Missed{},
		EventPulse:       Pulse{},
		EventModelStep:   ModelStep{},
		EventModelTested: ModelTested{},
	}
}

// A ChatStart opens the stream of one turn.
type ChatStart struct {
	Conversation string     `json:"conversation_id"`
	Turn         int        `json:"turn"`
	Model        string     `json:"model"`
	Mode         agent.Mode `json:"mode"`
	Simulated    bool       `json:"simulated"`
	Window       int        `json:"window"` // tokens; 0: unknown
	Limit        int        `json:"limit"`  // characters of one result
	Why          string     `json:"why"`
	// Limits are the tools by the limit that decides, which is Limit where a tool
	// declares none of its own.
	Limits []plugin.LimitGroup `json:"limits,omitempty"`
	Locale tool.Locale         `json:"locale"`
	// Resumable says that a client which loses the stream can resume it.
	Resumable bool `json:"resumable"`
	// Began is when the question came.
	Began time.Time `json:"began_at"`
}

// Missed replaces events that the daemon no longer stores: their number, and the
// whole answer before the events that follow. The number is 0 when another daemon goes on
// with the answer: what the client has of the text since is asked of the model again.
type Missed struct {
	Events int    `json:"events"`
	Text   string `json:"text"`
}

// A TextPiece is a piece of the answer, or of the model's reasoning.
type TextPiece struct {
	Text string `json:"text"`
}

// A ToolCallStart is a recognised call and the format it was written in.
type ToolCallStart struct {
	ID     string          `json:"id"`
	Tool   string          `json:"tool"`
	Args   json.RawMessage `json:"arguments"`
	Format string          `json:"format,omitempty"`
}

// A ToolCallResult is one result with its counts: characters produced, shown and,
// when KeptUUID is set, archived.
type ToolCallResult struct {
	ID    string      `json:"id"`
	Tool  string      `json:"tool"`
	OK    bool        `json:"ok"`
	Error *tool.Error `json:"error,omitempty"`
	// Produced are the characters of the whole, Shown those of it that a model is shown,
	// and Read those that the model reads, notice included.
	Produced int    `json:"produced"`
	Shown    int    `json:"shown"`
	Read     int    `json:"read,omitempty"`
	KeptUUID string `json:"kept_uuid,omitempty"`
	// Parts are the pictures and other files of the archived result, in their order; see
	// GET /api/archives/{uuid}/parts/{n}.
	Parts  []tool.Part `json:"parts,omitempty"`
	Unkept bool        `json:"unkept,omitempty"`
	// Incomplete says that the tool produced more than weir keeps of one result, and
	// that the rest is gone.
	Incomplete bool `json:"incomplete,omitempty"`
	// Refused are hosts that the tool requested and may not reach.
	Refused []string `json:"refused,omitempty"`
	// LoadedUUID is the archived result that a load read.
	LoadedUUID string `json:"loaded_uuid,omitempty"`
	// Summarized says that Text is a summary by a model. SummaryCost is the cost of
	// the request for one, even if it returned none.
	Summarized    bool              `json:"summarized,omitempty"`
	SummaryCost   *tool.SummaryCost `json:"summary_cost,omitempty"`
	Approval      *tool.Approval    `json:"approval,omitempty"`
	Layer         tool.Layer        `json:"layer,omitempty"`
	Limit         int               `json:"limit,omitempty"`
	Unit          tool.Unit         `json:"unit,omitempty"`
	LinesProduced int               `json:"lines_produced"`
	LinesShown    int               `json:"lines_shown"`
	// Kept are the lines between head and tail that are shown for an expression,
	// LeftOut how many such lines are not shown.
	Kept    []KeptLine `json:"kept,omitempty"`
	LeftOut int        `json:"left_out,omitempty"`
	// Gaps are the lines of the whole that are not shown, in order.
	Gaps      []Gap `json:"gaps,omitempty"`
	ElapsedMS int64 `json:"elapsed_ms"`
	// Structured is the tool's answer as a JSON value, for programs, up to 1 MiB.
	// Only POST /api/tools/{name}/call returns it.
	Structured json.RawMessage `json:"structured,omitempty"`
	// Calls are those that a script made, in their order.
	Calls []ScriptCall `json:"calls,omitempty"`
	// Text is what the model reads, notice included; Line the one-line report.
	Text string `json:"text"`
	Line string `json:"line"`
}

// A KeptLine is a line that is shown because an expression matches it: its number in
// the whole, its beginning, the expression or the name of weir's pattern, and how
// many lines are identical.
type KeptLine struct {
	Line  int    `json:"line"`
	Text  string `json:"text"`
	By    string `json:"by"`
	Times int    `json:"times"`
}

// A ToolCallTruncated says that the model does not see all of a result: characters
// from and to, and the layer of limits that decided.
type ToolCallTruncated struct {
	ID      string     `json:"id"`
	Tool    string     `json:"tool"`
	Layer   tool.Layer `json:"layer"`
	From    int        `json:"from"`
	To      int        `json:"to"`
	Percent int        `json:"percent"` // of the whole, left out
}

// A ToolCallArchived names the archived result that has the whole text of a call.
type ToolCallArchived struct {
	ID    string `json:"id"`
	Tool  string `json:"tool"`
	UUID  string `json:"uuid"`
	Chars int    `json:"chars"`
}

// A ToolCallProgress is the progress of a running call, in the tool's own words
// and unit.
type ToolCallProgress struct {
	ID      string `json:"id"`
	Tool    string `json:"tool"`
	Done    int    `json:"done"`
	Total   int    `json:"total,omitempty"` // 0: unknown
	Message string `json:"message,omitempty"`
}

// A ToolCallMalformed is text that the model meant as a call and that cannot be
// parsed.
type ToolCallMalformed struct {
	Reason string `json:"reason"`
	Tool   string `json:"tool"`
	Format string `json:"format"`
	// Note is the correction that the model receives; empty: the number of
	// corrections is used up.
	Note string `json:"note"`
}

// ModeSwitched says that the rest of the turn calls tools in another way.
type ModeSwitched struct {
	From agent.Mode `json:"from"`
	To   agent.Mode `json:"to"`
	Why  string     `json:"why"`
}

// ModelRepeated says that the provider failed and that weir will ask it again.
type ModelRepeated struct {
	Code    string    `json:"code"`
	Message tool.Text `json:"message"`
	Wait    int64     `json:"wait_ms"` // until then
}

// ModelSwitched says that another model answers the rest of the turn, since the one before
// failed and nothing of an answer had come. The fields after Message take the place of those of chat.start.
type ModelSwitched struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Code and Message say how From failed.
	Code      string     `json:"code"`
	Message   tool.Text  `json:"message"`
	Mode      agent.Mode `json:"mode"`
	Simulated bool       `json:"simulated"`
	Window    int        `json:"window"` // tokens; 0: unknown
	Limit     int        `json:"limit"`  // characters of one result
	Why       string     `json:"why"`
}

// ModelPassed says that a fallback is not asked, and why.
type ModelPassed struct {
	Model   string    `json:"model"`
	Message tool.Text `json:"message"`
}

// ModelProbing says that a model is asked, once, whether it can call tools.
type ModelProbing struct {
	Model string `json:"model"`
}

// A Plan contains the steps that the model set for itself.
type Plan struct {
	Steps []string `json:"steps"`
}

// Recalled names the archived results that the question may be about.
type Recalled struct {
	UUIDs    []string `json:"uuids"` // the best match first
	Score    float64  `json:"score"` // of the best, 0 to 1
	By       string   `json:"by"`    // words or embeddings
	Hinted   bool     `json:"hinted"`
	Loaded   bool     `json:"loaded"`
	Fallback string   `json:"fallback"` // why words were counted instead of comparing vectors
}

// Folded names the results that became placeholders.
type Folded struct {
	UUIDs      []string             `json:"uuids"`
	Results    []agent.FoldedResult `json:"results"`
	SavedChars int                  `json:"saved_chars"`
	MidTurn    bool                 `json:"mid_turn"` // because the window was nearly full
}

// A Budget is the estimated size of the next request.
type Budget struct {
	Tokens int `json:"tokens"`
	Window int `json:"window"` // tokens; 0: unknown
}
