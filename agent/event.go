package agent

import (
	"time"

	"github.com/weirhost/weir/agent/parse"
	"github.com/weirhost/weir/sdk/tool"
)

// An Observer sees what happens in a turn, in order, from one goroutine at a
// time. It must not block for long: the turn waits for it.
type Observer interface{ Observe(Event) }

// ObserverFunc makes a function an Observer.
type ObserverFunc func(Event)

// Observe calls f.
func (f ObserverFunc) Observe(e Event) { f(e) }

// An Event is one of the types below.
type Event interface{ event() }

// TurnStart opens a turn. Limit is the agent's limit per result in force, in
// characters, and Why names what decided it.
type TurnStart struct {
	Turn   int
	Model  string
	Mode   Mode
	Window int // tokens; 0: unknown
	Limit  int
	Why    tool.Text
	Locale tool.Locale
	// Tools is how many tools the model can call, and SystemChars the length of the
	// system prompt.
	Tools, SystemChars int
}

// TextDelta is text for the person. ReasoningDelta is the model's thought.
type TextDelta struct{ Text string }

// ReasoningDelta is a piece of the model's thought.
type ReasoningDelta struct{ Text string }

// CallStart says that a call was recognised, and as which format.
type CallStart struct {
	Call     tool.Call
	Format   parse.Format
	Repaired bool
}

// CallEnd carries the result as the model will see it: Result.Shown is the
// final view, Text what limit.Render makes of it in the turn's language.
type CallEnd struct {
	Result  tool.Result
	Text    string
	Elapsed time.Duration
}

// ToolsFound says which tools a search has found, best first.
type ToolsFound struct {
	CallID string // of find_tools; empty: the question's own words were the query
	Query  string
	Names  []string
}

// MalformedCall is text that was meant to be a call and could not be read. Note is
// the correction that the model receives; empty if no correction is left.
type MalformedCall struct {
	Malformed parse.Malformed
	Note      string
}

// ModeSwitched says that tool calling changed between native and prompt, for the rest of
// the turn.
type ModeSwitched struct {
	From, To Mode
	Why      string
}

// ModelRepeated says that the provider failed, and that it will be asked again
// after Wait. Nothing of its reply had come.
type ModelRepeated struct {
	Err  error // a *ModelError, as a rule
	Wait time.Duration
	// Without are tools whose descriptions the provider refuses. The rest of the turn goes
	// on without them.
	Without []string
}

// PlanReady has the steps of the model's plan.
type PlanReady struct{ Steps []string }

// Folded says that results turned into placeholders. MidTurn: because the
// window was nearly full.
type Folded struct {
	UUIDs       []string
	Results     []FoldedResult
	SavedChars  int
	MidTurn     bool
	PromptChars int // characters of the prompt after folding
}

// A FoldedResult is the result of a call with the text that took its place.
type FoldedResult struct {
	Turn   int    `json:"turn"`
	CallID string `json:"call_id"`
	Text   string `json:"text"`
}

// Budget tells the estimate of the next request, in tokens.
type Budget struct{ Tokens, Window int }

// LongPrompt says that the system prompt, with the tools, may exceed the window or leave no
// room for an answer with results. It follows TurnStart.
type LongPrompt struct {
	Chars  int
	Tokens int // estimated
	Window int // tokens; 0: unknown
}

// Offered lists the tools that the model can call, with the tokens of each in every
// request. It follows TurnStart, and each switch of the mode, if Config.Explain is
// set.
type Offered struct{ Tools []ToolCost }

// A ToolCost is the tokens of one tool's description.
type ToolCost struct {
	Name   string `json:"name"`
	Tokens int    `json:"tokens"` // estimated
	// Brief says that only one line of it is shown; describe_tool gives the rest.
	Brief bool `json:"brief,omitempty"`
}

// RoundEnd closes one request to the model: what was sent, and what came back.
// The reply's calls have not run yet.
type RoundEnd struct {
	Round int // from 1
	Sent  Parts
	Usage Usage // as reported; estimated where it says so; zero: nothing was
	// First is how long the first piece of the reply took, 0: none came; Elapsed
	// is the time of all of it.
	First, Elapsed time.Duration
	Calls          int // in the reply
	Err            error
	// Raw is the reply as it came, thoughts and the marks of calls included. Only
	// Config.Raw fills it.
	Raw string
}

// Parts are the estimated tokens of one request, by what they are sent for.
type Parts struct {
	System   int `json:"system"`   // the system prompt, with the tools
	History  int `json:"history"`  // earlier turns
	Question int `json:"question"` // of this turn
	Replies  int `json:"replies"`  // of the model in this turn, with its calls
	Results  int `json:"results"`  // of this turn's tools
	Notes    int `json:"notes"`    // our own corrections and hints
}

// Total is the sum of the parts.
func (p Parts) Total() int {
	return p.System + p.History + p.Question + p.Replies + p.Results + p.Notes
}

// TurnEnd closes a turn.
type TurnEnd struct {
	Reason Reason
	Usage  Usage
	// Before is the part of Usage that is of models which failed later, before any answer.
	Before []ModelUsage
	Rounds int
	Calls  int
	// ProducedChars is what the tools produced, ShownChars what the model saw,
	// KeptChars what the archive holds.
	ProducedChars, ShownChars, KeptChars int
	Elapsed                              time.Duration
	Faults
}

func (TurnStart) event()      {}
func (TextDelta) event()      {}
func (ReasoningDelta) event() {}
func (CallStart) event()      {}
func (CallEnd) event()        {}
func (ToolsFound) event()     {}
func (MalformedCall) event()  {}
func (ModeSwitched) event()   {}
func (ModelRepeated) event()  {}
func (PlanReady) event()      {}
func (Folded) event()         {}
func (Budget) event()         {}
func (LongPrompt) event()     {}
func (Offered) event()        {}
func (RoundEnd) event()       {}
func (TurnEnd) event()        {}

// Reason says why a turn ended.
type Reason string

// The ends of a turn.
const (
	ReasonAnswer    Reason = "answer"     // the model answered without a call
	ReasonMaxCalls  Reason = "max_calls"  // max_tool_calls is used up
	ReasonRepeated  Reason = "repeated"   // the third identical call
	ReasonTokens    Reason = "tokens"     // the token budget is used up
	ReasonTime      Reason = "time"       // the time budget is used up
	ReasonWindow    Reason = "window"     // the window is full even after folding
	ReasonLength    Reason = "length"     // the reply was cut by the length limit
	ReasonCancelled Reason = "cancelled"  // the caller went away
	ReasonMalformed Reason = "malformed"  // the corrections are used up
	ReasonToolCalls Reason = "tool_calls" // calls of the caller's tools wait for their results
	ReasonFormat    Reason = "format"     // the answer is not what Config.Format asks for
	ReasonNoAnswer  Reason = "no_answer"  // the model said nothing, and the corrections are used up
	ReasonModel     Reason = "model_error"
	ReasonToolbox   Reason = "toolbox_error" // the tools cannot be reached at all
)

// Mode is how tools are called.
type Mode string

// The modes. ModeAuto decides from what the model says it can.
const (
	ModeAuto   Mode = "auto"
	ModePrompt Mode = "prompt"
	ModeNative Mode = "native"
)
