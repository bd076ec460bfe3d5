package turns

import (
	"strings"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// A Stream sends the events of /api/chat.
type Stream struct {
	// Emit sends one event. It must be safe for concurrent use.
	Emit func(name string, data any)
	// Conversation, Model, Simulated and Resumable are those of chat.start.
	Conversation, Model  string
	Simulated, Resumable bool
	Began                time.Time
	// Limits returns the tools by the limit that decides, for an agent's limit.
	Limits func(chars int) []plugin.LimitGroup

	goesOn bool            // the client has the start of the turn
	text   strings.Builder // of all text events
	locale tool.Locale     // of the question
}

// Text sends a piece of the answer.
func (s *Stream) Text(text string) {
	s.text.WriteString(text)
	s.Emit(api.EventText, &api.TextPiece{Text: text})
}

// Reasoning sends a piece of the model's reasoning.
func (s *Stream) Reasoning(text string) { s.Emit(api.EventThought, &api.TextPiece{Text: text}) }

// Sent returns the whole text that the stream has sent.
func (s *Stream) Sent() string { return s.text.String() }

// Goes says that the turn goes on which the client knows: what it has of the answer becomes
// the text.
func (s *Stream) Goes(text string) {
	s.goesOn = true
	s.text.WriteString(text)
	s.Emit(api.EventMissed, api.Missed{Text: text})
}

// Observe implements Observer.
func (s *Stream) Observe(e agent.Event) {
	switch e := e.(type) {
	case agent.TurnStart:
		if s.locale = e.Locale; s.goesOn {
			return
		}
		s.Emit(api.EventStart, api.ChatStart{
			Conversation: s.Conversation, Turn: e.Turn, Model: s.Model, Mode: e.Mode, Simulated: s.Simulated,
			Window: e.Window, Limit: e.Limit, Why: msg.In(e.Locale, e.Why), Limits: s.Limits(e.Limit), Locale: e.Locale, Resumable: s.Resumable, Began: s.Began,
		})
	case agent.CallStart:
		s.Emit(api.EventCall, api.ToolCallStart{ID: e.Call.ID, Tool: e.Call.Tool, Args: e.Call.Args, Format: string(e.Format)})
	case agent.MalformedCall:
		s.Emit(api.EventMalformed, malformed(e))
	case agent.ModeSwitched:
		s.Emit(api.EventMode, api.ModeSwitched{From: e.From, To: e.To, Why: e.Why})
	case agent.ModelRepeated:
		p := api.AsProblem(e.Err)
		s.Emit(api.EventRepeated, api.ModelRepeated{Code: p.Code, Message: msg.Localize(s.locale, p.Msg), Wait: e.Wait.Milliseconds()})
	case agent.ModelSwitched:
		p := api.AsProblem(e.Err)
		s.Emit(api.EventSwitched, api.ModelSwitched{From: e.From, To: e.To, Code: p.Code, Message: msg.Localize(s.locale, p.Msg), Mode: e.Mode, Simulated: s.Simulated, Window: e.Window, Limit: e.Limit, Why: msg.In(s.locale, e.Why)})
	case agent.ModelPassed:
		s.Emit(api.EventPassed, api.ModelPassed{Model: e.Model, Message: msg.Localize(s.locale, e.Why)})
	case agent.PlanReady:
		s.Emit(api.EventPlan, api.Plan{Steps: e.Steps})
	case agent.Recalled:
		s.Emit(api.EventRecalled, api.Recalled{UUIDs: e.UUIDs, Score: e.Score, By: e.By, Hinted: e.Hinted, Loaded: e.Preloaded, Fallback: e.Fallback})
	case agent.Folded:
		s.Emit(api.EventFolded, api.Folded{UUIDs: e.UUIDs, Results: e.Results, SavedChars: e.SavedChars, MidTurn: e.MidTurn})
	case agent.Budget:
		s.Emit(api.EventBudget, api.Budget{Tokens: e.Tokens, Window: e.Window})
	}
}

// Result implements Observer.
func (s *Stream) Result(c Call) {
	out := c.Out
	s.Emit(api.EventResult, out)
	if out.Layer != tool.LayerNone {
		s.Emit(api.EventTruncated, api.ToolCallTruncated{
			ID: out.ID, Tool: out.Tool, Layer: out.Layer, From: out.Produced, To: out.Shown, Percent: api.PercentCut(out.Produced, out.Shown),
		})
	}
	if out.KeptUUID != "" {
		s.Emit(api.EventArchived, api.ToolCallArchived{ID: out.ID, Tool: out.Tool, UUID: out.KeptUUID, Chars: out.Produced})
	}
}
