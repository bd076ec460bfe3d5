package openai

import (
	"encoding/json"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/internal/tokens"
	"github.com/weirhost/weir/agent/model/internal/chatform"
	"github.com/weirhost/weir/agent/model/internal/gauge"
	"github.com/weirhost/weir/sdk/tool"
)

// sizeOf returns how long the prompt of a request is. What cannot be read counts nothing: the
// server says what is wrong with it.
func sizeOf(body json.RawMessage) (s gauge.Size) {
	r, fault := chatform.Read(body)
	if fault != nil {
		return s
	}
	for _, m := range r.Messages {
		s.Tokens += tokens.PerMessage
		s.Text(m.Reasoning)
		for _, p := range m.Parts {
			if p.Kind == chatform.Image {
				s.Pictures++
			}
			s.Text(p.Text)
		}
		for _, c := range m.Calls {
			s.Text(c.Name + c.Arguments)
		}
	}
	for _, d := range r.Tools {
		s.Text(d.Name + string(d.Description) + string(d.Parameters))
	}
	return s
}

// tooLong returns the refusal of a request that is too long for the window of a server that drops
// the beginning of it without a word; nil: it fits, or the server refuses by itself.
func (m *Model) tooLong(s gauge.Size, window int) error {
	if !m.cfg.DropsHead || window <= 0 {
		return nil
	}
	n := m.gauge.Estimate(s)
	if n <= window {
		return nil
	}
	return m.peer.Error(agent.ModelWindow, tool.Textf("the prompt has about %d tokens, and the window has %d", n, window),
		tool.Textf("shorten the conversation, or raise window in [models.%s]", m.cfg.Name))
}
