package agent

import (
	"errors"
	"slices"
	"strings"

	"github.com/weirhost/weir/agent/internal/prompt"
	"github.com/weirhost/weir/sdk/tool"
)

// maxRefused is how often a provider may refuse tools by name in one turn. Most providers
// name one at a time.
const maxRefused = 8

// setsNative reports whether native calling is the operator's setting, which no turn
// overrules.
func (r *run) setsNative() bool { return r.mode == ModeNative && r.cfg.Mode == ModeNative }

// countNativeFailure counts a failure of native tool calling. It returns false if the
// error is none, or ends the turn. Otherwise the model is asked again: by prompt if the
// provider refuses tools, and after the second failure, for the rest of this turn.
func (r *run) countNativeFailure(err error) bool {
	refused := refusesTools(err)
	if !refused && !IsModelCode(err, ModelGarbage) {
		return false
	}
	r.budget.nativeFailures++
	switch {
	case !refused && r.budget.nativeFailures < 2:
		return true
	case r.setsNative():
		return false
	}
	r.switchToPrompt(err.Error())
	return true
}

// refusesTools reports whether the provider refuses the request because of its tools.
func refusesTools(err error) bool {
	me, ok := errors.AsType[*ModelError](err)
	if !ok || me.Code != ModelBadRequest {
		return false
	}
	s := strings.ToLower(me.Msg)
	return len(me.Tools) > 0 || strings.Contains(s, "tool") || strings.Contains(s, "function") || isAboutSchema(s)
}

// isAboutSchema reports whether a refusal is about a schema that is not the answer's.
func isAboutSchema(s string) bool {
	return strings.Contains(s, "schema") && !strings.Contains(s, "response_format") && !strings.Contains(s, "output_config")
}

// refusesCallers reports whether the provider refuses a tool of the caller's by name. The
// caller can mend it, and has no use for a turn without its tool.
func (r *run) refusesCallers(err error) bool {
	me, ok := errors.AsType[*ModelError](err)
	return ok && slices.ContainsFunc(r.cfg.Caller, func(s tool.Spec) bool { return slices.Contains(me.Tools, s.Name) })
}

// leaveOut takes the tools that a provider refuses by name out of the turn. It returns
// false if there are none, or the turn cannot go on without them.
func (r *run) leaveOut(err error) bool {
	me, ok := errors.AsType[*ModelError](err)
	if !ok || len(me.Tools) == 0 || r.budget.refused >= maxRefused || r.owesCall() && slices.Contains(me.Tools, r.cfg.Choice.Tool) {
		return false
	}
	refused := func(s tool.Spec) bool { return slices.Contains(me.Tools, s.Name) }
	rest := slices.DeleteFunc(slices.Clone(r.prompt.Tools), refused)
	if len(rest) == len(r.prompt.Tools) { // they are the agent's own
		return false
	}
	r.budget.refused++
	msg, _ := me.Texts()
	told := *me
	told.MsgText, told.HintText = tool.Textf("%s; the turn goes on without %s", msg, strings.Join(me.Tools, ", ")), tool.Text{}
	told.Msg, told.Hint = told.MsgText.String(), ""
	r.emit(ModelRepeated{Err: &told, Without: me.Tools})
	r.prompt.Tools, r.tools = rest, new(ToolCache) // other turns have other tools
	r.writeSystem()
	r.emitTools()
	return true
}

// explainRefusal says what to set where a provider refuses tools and native calling is a
// setting.
func (r *run) explainRefusal(err error) error {
	me, ok := errors.AsType[*ModelError](err)
	if !ok || !r.setsNative() || !refusesTools(err) || r.refusesCallers(err) {
		return err
	}
	msg, _ := me.Texts()
	told := *me
	told.MsgText = tool.Textf("native tool calling is set, and the provider refuses tools: %s", msg)
	told.HintText = tool.Textf("set native_tools = false in [models.%s], and take mode = \"native\" out of the profile: tools are then called by text", me.Model)
	if isAboutSchema(strings.ToLower(me.Msg)) {
		told.MsgText = tool.Textf("native tool calling is set, and the provider refuses the schema of a tool: %s", msg)
		told.HintText = tool.Textf("name the tool in deny_tools of the profile, or set native_tools = false in [models.%s], and take mode = \"native\" out of the profile: tools are then called by text", me.Model)
	}
	told.Msg, told.Hint = told.MsgText.String(), told.HintText.String()
	return &told
}

// switchToPrompt continues the turn in prompt mode. The stored messages are neutral; they
// are rendered again.
func (r *run) switchToPrompt(why string) {
	r.emit(ModeSwitched{From: r.mode, To: ModePrompt, Why: why})
	r.mode = ModePrompt
	r.memory.tokens = nil
	r.writeSystem()
	r.emitTools()
}

// handleEmpty handles an empty reply: the model is asked again, once. It says nothing about
// the way in which tools are called.
func (r *run) handleEmpty() phase {
	if r.ending.empty || !r.mayCorrect() {
		r.ending.final = ReasonNoAnswer
		return r.accept("")
	}
	r.ending.empty = true
	r.add(note(prompt.For(r.locale).EmptyReply, r.turn, r.locale))
	return phaseAsk
}
