package registry

import (
	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/sdk/tool"
)

// lookalikes returns problems for names that look like another name, because a
// model could call the wrong tool.
func (s *scan) lookalikes(p *Plugin) []Problem {
	var out []Problem
	fix := tool.Textf("give it another name")
	name := p.Manifest.Name
	if o, ok := s.owner["like plugin "+text.Lookalike(name)]; ok && o.Manifest.Name != name {
		out = append(out, Problem{File: p.Source, Key: "name", Msg: tool.Textf("the plugin name %q is easily taken for that of %s (%s)", name, o.Manifest.Name, o.Source), Fix: fix})
	}
	for _, t := range p.Manifest.Tools {
		name := t.Spec.Name
		if r := text.LikeOneOf(name, reserved); r != "" {
			out = append(out, Problem{File: p.Source, Key: "tool.name", Msg: tool.Textf("the tool name %q is easily taken for %s, which the host provides itself", name, r), Fix: fix})
		}
		o, ok := s.owner["like "+text.Lookalike(name)]
		if !ok {
			continue
		}
		for _, other := range o.Manifest.Tools {
			if text.Lookalike(other.Spec.Name) == text.Lookalike(name) && other.Spec.Name != name {
				out = append(out, Problem{File: p.Source, Key: "tool.name", Msg: tool.Textf("the tool name %q is easily taken for %s of the plugin %s (%s)", name, other.Spec.Name, o.Manifest.Name, o.Source), Fix: fix})
			}
		}
	}
	return out
}

// register adds a plugin's names.
func (s *scan) register(p *Plugin) {
	s.owner["plugin "+p.Manifest.Name], s.owner["like plugin "+text.Lookalike(p.Manifest.Name)] = p, p
	for _, t := range p.Manifest.Tools {
		s.owner[t.Spec.Name], s.owner["like "+text.Lookalike(t.Spec.Name)] = p, p
	}
}
