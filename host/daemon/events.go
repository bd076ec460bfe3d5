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
	eventProgress  = "tool_call.progress" // while a call runs
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
	eventMissed    = "chat.missed" // in front of what a resumed stream still has
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
	// Resumable says that a client which loses the stream can come back to it.
	Resumable bool `json:"resumable"`
}

// Missed tells a client that comes back too late how many events are gone, and
// the whole answer in front of those that follow.
type Missed struct {
	Events int    `json:"events"`
	Text   string `json:"text"`
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

// A ToolCallTruncated says that a result is not shown whole: characters from and
// to, and the layer of limits that decided.
type ToolCallTruncated struct {
	ID      string     `json:"id"`
	Tool    string     `json:"tool"`
	Layer   tool.Layer `json:"layer"`
	From    int        `json:"from"`
	To      int        `json:"to"`
	Percent int        `json:"percent"` // of the whole, left out
}

// A ToolCallArchived says where the whole of a result is kept.
type ToolCallArchived struct {
	ID    string `json:"id"`
	Tool  string `json:"tool"`
	UUID  string `json:"uuid"`
	Chars int    `json:"chars"`
}

// A ToolCallProgress tells how a call gets on that still runs, in the tool's own
// words and unit.
type ToolCallProgress struct {
	ID      string `json:"id"`
	Tool    string `json:"tool"`
	Done    int    `json:"done"`
	Total   int    `json:"total,omitempty"` // 0: unknown
	Message string `json:"message,omitempty"`
}

// A ToolCallMalformed says that something meant to be a call could not be read.
type ToolCallMalformed struct {
	Reason string `json:"reason"`
	Tool   string `json:"tool"`
	Format string `json:"format"`
	// Note is what the model was told; empty: the corrections are used up.
	Note string `json:"note"`
}

// ModeSwitched says that tools are called in another way from now on.
type ModeSwitched struct {
	From agent.Mode `json:"from"`
	To   agent.Mode `json:"to"`
	Why  string     `json:"why"`
}

// ModelRepeated says that the provider failed and will be asked again.
type ModelRepeated struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Wait    int64  `json:"wait_ms"` // until then
}

// A Plan holds the steps that the model set itself.
type Plan struct {
	Steps []string `json:"steps"`
}

// Recalled says which archived results the question may be about.
type Recalled struct {
	UUIDs    []string `json:"uuids"` // the best match first
	Score    float64  `json:"score"` // of the best, 0 to 1
	By       string   `json:"by"`    // words or embeddings
	Hinted   bool     `json:"hinted"`
	Loaded   bool     `json:"loaded"`
	Fallback string   `json:"fallback"` // why words were counted where vectors were to be had
}

// Folded says which results turned into placeholders.
type Folded struct {
	UUIDs      []string `json:"uuids"`
	SavedChars int      `json:"saved_chars"`
	MidTurn    bool     `json:"mid_turn"` // because the window was nearly full
}

// A Budget tells the estimate of the next request.
type Budget struct {
	Tokens int `json:"tokens"`
	Window int `json:"window"` // tokens; 0: unknown
}

// eventData holds a value of what each event of /api/chat carries.
func eventData() map[string]any {
	return map[string]any{
		eventStart: ChatStart{}, eventText: TextPiece{}, eventThought: TextPiece{}, eventCall: ToolCallStart{}, eventResult: ToolCallResult{},
		eventTruncated: ToolCallTruncated{}, eventArchived: ToolCallArchived{}, eventProgress: ToolCallProgress{}, eventMalformed: ToolCallMalformed{}, eventMode: ModeSwitched{},
		eventFolded: Folded{}, eventRecalled: Recalled{}, eventPlan: Plan{}, eventBudget: Budget{}, eventError: Problem{}, eventEnd: ChatEnd{},
		eventAsked: Approval{}, eventWaiting: ApprovalWaiting{}, eventAnswered: ApprovalAnswered{}, eventMissed: Missed{}, eventRepeated: ModelRepeated{},
	}
}

// A ChatEnd closes the stream with the aggregate of the turn.
type ChatEnd struct {
	Conversation string       `json:"conversation_id"`
	Reason       agent.Reason `json:"reason"`
	Answer       string       `json:"answer"`
	Reasoning    string       `json:"reasoning,omitempty"`
	// Usage is of all that was asked of models for the question.
	Usage agent.Usage `json:"usage"`
	// Cost is what Usage came to, as far as prices are known, in the currency of the
	// turn's own model; absent: unknown.
	Cost *agent.Cost `json:"cost,omitempty"`
	// Asides are the parts of Usage that are no replies of the turn's own model.
	Asides  []Spent          `json:"asides,omitempty"`
	Rounds  int              `json:"rounds"`
	Calls   int              `json:"calls"`
	Results []ToolCallResult `json:"results,omitempty"`
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

// resultOf turns a result into its wire form, rendered in that language.
func resultOf(r tool.Result, elapsedMS int64, l tool.Locale) ToolCallResult {
	return resultTold(r, elapsedMS, limit.Render(r, l))
}

// resultTold is resultOf for a result that is rendered already.
func resultTold(r tool.Result, elapsedMS int64, text string) ToolCallResult {
	out := countsOf(r)
	out.ElapsedMS, out.Text, out.Line = elapsedMS, text, limit.Line(r)
	return out
}

// countsOf is what resultOf says without its texts and its time.
func countsOf(r tool.Result) ToolCallResult {
	shownChars, shownLines := limit.Count(r.Shown.Text)
	out := ToolCallResult{
		ID: r.CallID, Tool: r.Tool, OK: r.Err == nil, Error: r.Err,
		Produced: r.Shown.TotalChars, Shown: shownChars, Unkept: r.Unkept,
		Summarized: r.Shown.Summarized, SummaryCost: r.Summary, Approval: r.Approval,
		LinesProduced: r.Shown.TotalLines, LinesShown: shownLines,
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
