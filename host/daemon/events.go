package daemon

import (
	"encoding/json"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// The events of /api/chat, in the order they can come: chat.start, then deltas
// and tool calls, then chat.end. Between a call's start and its result stand
// approval.asked and approval.answered, if a person has to allow it. An error event stands directly before chat.end.
const (
	eventStart     = "chat.start"
	eventText      = "message.delta"
	eventThought   = "reasoning.delta"
	eventCall      = "tool_call.start"
	eventResult    = "tool_call.result"
	eventTruncated = "tool_call.truncated"
	eventArchived  = "tool_call.archived"
	eventMalformed = "tool_call.malformed"
	eventMode      = "mode.switched"
	eventRepeated  = "model.repeated" // the provider failed and will be asked again
	eventFolded    = "context.folded"
	eventRecalled  = "context.recalled"
	eventPlan      = "plan"
	eventBudget    = "budget"
	eventError     = "error"
	eventEnd       = "chat.end"
	eventAsked     = "approval.asked"
	eventWaiting   = "approval.waiting" // from time to time, so that the stream lives
	eventAnswered  = "approval.answered"
)

// A ChatStart opens the stream of one turn.
type ChatStart struct {
	Conversation string      `json:"conversation_id"`
	Turn         int         `json:"turn"`
	Model        string      `json:"model"`
	Mode         agent.Mode  `json:"mode"`
	Simulated    bool        `json:"simulated"`
	Window       int         `json:"window"` // tokens; 0: unknown
	Limit        int         `json:"limit"`  // characters of one result
	Why          string      `json:"why"`
	Locale       tool.Locale `json:"locale"`
}

// A TextPiece is a piece of the answer, or of what the model thinks.
type TextPiece struct {
	Text string `json:"text"`
}

// A ToolCallStart says which call was recognised, and as what.
type ToolCallStart struct {
	ID     string          `json:"id"`
	Tool   string          `json:"tool"`
	Args   json.RawMessage `json:"arguments"`
	Format string          `json:"format,omitempty"`
}

// A ToolCallResult is one result with its numbers: characters produced, shown
// and, when KeptUUID is set, kept whole in the archive.
type ToolCallResult struct {
	ID       string      `json:"id"`
	Tool     string      `json:"tool"`
	OK       bool        `json:"ok"`
	Error    *tool.Error `json:"error,omitempty"`
	Produced int         `json:"produced"`
	Shown    int         `json:"shown"`
	KeptUUID string      `json:"kept_uuid,omitempty"`
	Unkept   bool        `json:"unkept,omitempty"`
	// LoadedUUID is the archive that a load read.
	LoadedUUID string `json:"loaded_uuid,omitempty"`
	// Summarized says that Text is a summary by a model, SummaryCost what asking
	// for one took, even where it came to none.
	Summarized    bool              `json:"summarized,omitempty"`
	SummaryCost   *tool.SummaryCost `json:"summary_cost,omitempty"`
	Approval      *tool.Approval    `json:"approval,omitempty"`
	Layer         tool.Layer        `json:"layer,omitempty"`
	Limit         int               `json:"limit,omitempty"`
	Unit          tool.Unit         `json:"unit,omitempty"`
	LinesProduced int               `json:"lines_produced"`
	LinesShown    int               `json:"lines_shown"`
	ElapsedMS     int64             `json:"elapsed_ms"`
	// Text is what the model reads, notice included; Line the one-line report.
	Text string `json:"text"`
	Line string `json:"line"`
}

// A ChatEnd closes the stream with the aggregate of the turn.
type ChatEnd struct {
	Conversation string           `json:"conversation_id"`
	Reason       agent.Reason     `json:"reason"`
	Answer       string           `json:"answer"`
	Reasoning    string           `json:"reasoning,omitempty"`
	Usage        agent.Usage      `json:"usage"`
	Cost         *agent.Cost      `json:"cost,omitempty"` // absent: unknown
	Rounds       int              `json:"rounds"`
	Calls        int              `json:"calls"`
	Results      []ToolCallResult `json:"results,omitempty"`
	// Pending are calls of the caller's tools, which wait for their results; only
	// of /v1.
	Pending       []ToolCallStart `json:"pending,omitempty"`
	ProducedChars int             `json:"produced_chars"`
	ShownChars    int             `json:"shown_chars"`
	KeptChars     int             `json:"kept_chars"`
	agent.Faults
	// Unsaved says that the disk is full: the next question will know nothing of
	// this one.
	Unsaved   bool  `json:"unsaved,omitempty"`
	ElapsedMS int64 `json:"elapsed_ms"`
}

// resultOf turns a result into its wire form, rendered in the turn's language.
func resultOf(r tool.Result, elapsedMS int64, l tool.Locale) ToolCallResult {
	shownChars, shownLines := limit.Count(r.Shown.Text)
	out := ToolCallResult{
		ID: r.CallID, Tool: r.Tool, OK: r.Err == nil, Error: r.Err,
		Produced: r.Shown.TotalChars, Shown: shownChars, Unkept: r.Unkept,
		Summarized: r.Shown.Summarized, SummaryCost: r.Summary, Approval: r.Approval,
		LinesProduced: r.Shown.TotalLines, LinesShown: shownLines,
		ElapsedMS: elapsedMS, Text: limit.Render(r, l), Line: limit.Line(r),
	}
	if r.Shown.Cut() {
		out.Layer, out.Limit, out.Unit = r.Shown.By, r.Shown.Limit, r.Shown.Unit
	}
	if r.Load != nil {
		out.LoadedUUID = r.Load.UUID
	}
	if r.Ref != nil {
		out.KeptUUID = r.Ref.UUID
	}
	return out
}

// percentCut is how much of a result is not shown, rounded to whole percent.
func percentCut(from, to int) int {
	if from <= 0 {
		return 0
	}
	return (from - to) * 100 / from
}
