package turns

import (
	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/sdk/tool"
)

// traceResult is how many characters of a result the level trace logs.
const traceResult = 200

// A Log writes the turn's log lines. Only at level trace they contain what models and
// tools wrote.
type Log struct {
	Logger              hclog.Logger
	Conversation, Model string
	// End has the usage of the whole turn when agent.TurnEnd arrives.
	End *api.ChatEnd
}

// Observe implements Observer.
func (l Log) Observe(e agent.Event) {
	switch e := e.(type) {
	case agent.TurnStart:
		l.Logger.Info("turn", "conversation", l.Conversation, "turn", e.Turn, "model", l.Model, "mode", e.Mode,
			"window_tokens", e.Window, "limit_chars", e.Limit, "limit_by", e.Why.String(), "tools", e.Tools, "system_chars", e.SystemChars)
	case agent.CallStart:
		l.Logger.Info("call recognised", "tool", e.Call.Tool, "id", e.Call.ID, "format", e.Format, "repaired", e.Repaired)
		if how := e.Format.Misuse(); how != "" {
			l.Logger.Warn("the call was "+how+"; it was run", "tool", e.Call.Tool, "id", e.Call.ID, "format", e.Format, "model", l.Model)
		}
	case agent.RoundEnd:
		if e.Raw != "" {
			l.Logger.Trace("reply", "conversation", l.Conversation, "round", e.Round, "text", e.Raw)
		}
	case agent.MalformedCall:
		l.Logger.Warn("call not readable", "reason", e.Malformed.Reason, "format", e.Malformed.Format, "tool", e.Malformed.Name, "corrected", e.Note != "")
	case agent.ModeSwitched:
		l.Logger.Warn("tool calling switched for the rest of the turn", "conversation", l.Conversation, "from", e.From, "to", e.To, "why", e.Why)
	case agent.ModelRepeated:
		if len(e.Without) > 0 {
			l.Logger.Warn("the provider refuses tools; the turn goes on without them", "conversation", l.Conversation, "tools", e.Without, "why", e.Err.Error())
		}
	case agent.ModelSwitched:
		l.Logger.Warn("another model answers", "from", e.From, "to", e.To, "mode", e.Mode, "window_tokens", e.Window, "limit_chars", e.Limit, "limit_by", e.Why.String(), "why", e.Err)
	case agent.ModelPassed:
		l.Logger.Warn("a fallback was passed over", "model", e.Model, "why", e.Why.String())
	case agent.Recalled:
		if e.Fallback != "" {
			l.Logger.Warn("words were counted, for there were no vectors", "why", e.Fallback)
		}
		l.Logger.Info("archived results may be meant", "uuids", e.UUIDs, "score", e.Score, "by", e.By, "hinted", e.Hinted, "loaded", e.Preloaded)
	case agent.Folded:
		l.Logger.Info("folded", "results", len(e.UUIDs), "saved_chars", e.SavedChars, "mid_turn", e.MidTurn)
	case agent.LongPrompt:
		l.Logger.Warn("the system prompt is very long and may exceed the window", "conversation", l.Conversation, "system_chars", e.Chars, "system_tokens", e.Tokens, "window_tokens", e.Window)
	case agent.TurnEnd:
		l.Logger.Info("turn ended", "reason", e.Reason, "rounds", e.Rounds, "calls", e.Calls, "produced_chars", e.ProducedChars,
			"shown_chars", e.ShownChars, "kept_chars", e.KeptChars, "prompt_tokens", l.End.Usage.Prompt, "completion_tokens", l.End.Usage.Completion,
			"faults", e.Faults.Faults, "refaults", e.Refaults, "thrash", e.Thrash)
	}
}

// Result implements Observer. The host logs its own cuts; Log adds those of the round and
// of loads.
func (l Log) Result(c Call) {
	if l.Logger.IsTrace() {
		l.Logger.Trace("result", "tool", c.Out.Tool, "id", c.Out.ID, "begins", api.Clip(c.Out.Text, traceResult))
	}
	switch out := c.Out; out.Layer {
	case tool.LayerNone, tool.LayerTool, tool.LayerOperator, tool.LayerDefault, tool.LayerCeiling, tool.LayerAgent:
	default:
		l.Logger.Info("result cut", "tool", out.Tool, "layer", out.Layer, "from", out.Produced, "to", out.Shown, "percent", api.PercentCut(out.Produced, out.Shown))
	}
}
