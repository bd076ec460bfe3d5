package agent

import (
	"strings"

	"github.com/weirhost/weir/agent/internal/prompt"
	"github.com/weirhost/weir/sdk/tool"
)

// withholdsRounds reports whether the text of a reply is shown only as the answer: with
// Config.Format the text in front of calls is none of it, and a wrong answer can be asked for
// again as long as nobody has read it.
func (r *run) withholdsRounds() bool {
	return r.cfg.Format != nil && (len(r.specs) > 0 || !r.cfg.AsItComes)
}

// fault says what is wrong with a text as an answer in Config.Format; zero: nothing, or
// nothing is known.
func (r *run) fault(text string) tool.Text {
	if r.cfg.Format == nil || r.cfg.AnswerFault == nil || strings.TrimSpace(text) == "" {
		return tool.Text{}
	}
	return r.cfg.AnswerFault(text)
}

// isWrong reports whether the reply is a wrong answer for which the model is asked again: once,
// and only if it was not shown.
func (r *run) isWrong(p *reply) bool {
	return p.held && !r.ending.faulted && r.ending.final == "" && !r.fault(p.text.String()).IsZero()
}

// askForFormat sends a wrong answer back.
func (r *run) askForFormat() phase {
	text := r.round.reply.text.String()
	r.ending.faulted = true
	r.add(r.assistant(text))
	r.add(note(prompt.For(r.locale).WrongAnswer+r.fault(text).String()+". "+prompt.For(r.locale).AnswerAgain, r.turn, r.locale))
	return phaseAsk
}
