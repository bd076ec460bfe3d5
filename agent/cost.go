package agent

import "github.com/weirhost/weir/agent/internal/tokens"

// emitTools emits the tokens of each tool if Config.Explain is set.
func (r *run) emitTools() {
	if !r.cfg.Explain {
		return
	}
	scale := r.cfg.Estimator.scale()
	var out []ToolCost
	if r.mode == ModeNative {
		list := r.nativeTools()
		for i, t := range list.Tools {
			out = append(out, ToolCost{Name: t.Name, Tokens: int(list.Raw[i]*scale + 0.5)})
		}
	} else {
		for _, t := range r.written {
			out = append(out, ToolCost{Name: t.Name, Tokens: int(tokens.Count(t.Text)*scale + 0.5), Brief: t.Brief})
		}
	}
	r.emit(Offered{out})
}

// parts splits the estimate of the next request. It is called after
// promptTokens, whose total it keeps to: what rounding leaves over is the
// system prompt's.
func (r *run) parts(total int) Parts {
	var p Parts
	scale := r.cfg.Estimator.scale()
	p.History = int(r.memory.headTokens * scale)
	for i := r.memory.first; i < len(r.msgs); i++ {
		n := int(r.memory.tokens[i] * scale)
		switch {
		case i < r.memory.question:
			p.History += n
		case i == r.memory.question:
			p.Question += n
		case r.msgs[i].Role == RoleAssistant:
			p.Replies += n
		case r.msgs[i].Role == RoleResults:
			p.Results += n
		default:
			p.Notes += n
		}
	}
	p.System = total - p.Total()
	return p
}
