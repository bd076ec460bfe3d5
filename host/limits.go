package host

import (
	"cmp"
	"maps"
	"slices"

	"github.com/weirhost/weir/host/internal/bounds"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// validate reports the first invalid setting, with its key.
func (c Settings) validate() error {
	for _, f := range c.Folders {
		if f.Trust != "" && f.Trust != plugin.TrustAsk && f.Trust != plugin.TrustGranted {
			return msg.Errorf("the trust of the folder %s is %q; it can be %s or %s", f.Path, f.Trust, plugin.TrustAsk, plugin.TrustGranted)
		}
	}
	if c.CeilingChars < 0 || c.CeilingChars > 0 && c.CeilingChars < tool.MinMaxChars {
		return msg.Errorf("the ceiling of %d characters is too low; at least %d are needed, 0 means %d", c.CeilingChars, tool.MinMaxChars, tool.DefaultCeiling)
	}
	if err := bounds.Check(c.Defaults); err != nil {
		return msg.Errorf("the default limits: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Tools)) {
		if err := bounds.Check(c.Tools[name].Limits); err != nil {
			return msg.Errorf("the limits of the tool %s: %w", name, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Grants)) {
		for _, p := range c.Grants[name].Paths {
			if p.Mode != "" && p.Mode != "ro" && p.Mode != "rw" {
				return msg.Errorf("the grant of %s for %s: mode is %q; it can be ro or rw", p.Guest, name, p.Mode)
			}
		}
	}
	return nil
}

// defaults returns the lowest layer of limits, with no zero field but Memory.
func (c Settings) defaults() tool.Limits {
	d := c.Defaults
	d.OpenEnded = true
	return d.Or(tool.Limits{
		MaxChars: tool.DefaultMaxChars, OpenEnded: true, MaxLines: tool.DefaultMaxLines, Strategy: tool.HeadTail,
		Head: tool.DefaultShare, Tail: tool.DefaultShare, Archive: tool.ArchiveAuto, Timeout: DefaultTimeout,
	})
}

// effectiveLimits returns a tool with the limits that apply: the operator's settings
// take precedence over the tool's, and those over the defaults. The ceiling caps all.
// guest is the default memory of its guest; 0: it has none.
func (c Settings) effectiveLimits(spec tool.Spec, owner string, guest tool.Bytes) plugin.ToolInfo {
	declared, operator, defaults := spec.Output, c.Tools[spec.Name].Limits, c.defaults()
	defaults.Memory = cmp.Or(defaults.Memory, guest)
	t := plugin.ToolInfo{
		Plugin: owner, Declared: declared, Effective: operator.Or(declared).Or(defaults),
		CharsBy:    layer(operator.MaxChars != 0, declared.MaxChars != 0),
		LinesBy:    layer(operator.MaxLines != 0, declared.MaxLines != 0),
		StrategyBy: layer(operator.Strategy != "", declared.Strategy != ""),
		TimeoutBy:  layer(operator.Timeout != 0, declared.Timeout != 0),
	}
	if t.Effective.Memory != 0 {
		t.MemoryBy = layer(operator.Memory != 0, declared.Memory != 0)
	}
	var by limit.By
	t.Effective, by = limit.Lower(t.Effective, limit.By{Chars: t.CharsBy, Lines: t.LinesBy}, c.ceiling(), tool.LayerCeiling)
	t.CharsBy = by.Chars
	t.Spec = spec
	t.Spec.Output = t.Effective
	return t
}

// ceiling returns the ceiling in force, in characters.
func (c Settings) ceiling() int { return cmp.Or(c.CeilingChars, tool.DefaultCeiling) }

// within returns the limits of one call, by which layer, for an agent with a limit of
// chars; 0: no agent calls. Where the tool's limit is open-ended the agent's replaces
// it, and more characters get as many more lines, unless the operator set those.
func (t *boundTool) within(chars int) (tool.Limits, limit.By) {
	l, by := t.info.Effective, t.by
	if chars <= 0 || !l.OpenEnded {
		return limit.Lower(l, by, chars, tool.LayerAgent)
	}
	usual := l.MaxChars
	l.MaxChars, by.Chars = chars, tool.LayerAgent
	l, by = limit.Lower(l, by, t.ceiling, tool.LayerCeiling)
	if l.MaxChars > usual && by.Lines != tool.LayerOperator {
		l.MaxLines, by.Lines = int(int64(l.MaxLines)*int64(l.MaxChars)/int64(usual)), by.Chars
	}
	return l, by
}

// LimitsIf returns the limits of a call of the named tool, by which layer, if the operator
// set l for it, for an agent with a limit of chars; 0: no agent calls. A tool that does not
// exist declares nothing.
func (h *Host) LimitsIf(name string, l tool.Limits, chars int) (tool.Limits, limit.By) {
	set, spec := h.settings.Load().Settings, tool.Spec{Name: name}
	if t := h.current.Load().tools[name]; t != nil {
		spec.Output = t.info.Declared
	}
	set.Tools = map[string]ToolConfig{name: {Limits: l.Or(set.Tools[name].Limits)}}
	info := set.effectiveLimits(spec, "", 0)
	t := &boundTool{info: info, by: limit.By{Chars: info.CharsBy, Lines: info.LinesBy}, ceiling: set.ceiling()}
	return t.within(chars)
}

// Limits returns the session's tools, grouped by the limit that decides for an agent
// with a limit of chars, the lowest first.
func (s *Session) Limits(chars int) []plugin.LimitGroup {
	var out []plugin.LimitGroup
	for _, t := range s.h.current.Load().usable() {
		l, by := t.within(chars)
		g := plugin.LimitGroup{Chars: l.MaxChars, By: by.Chars, Next: t.ceiling, NextBy: tool.LayerCeiling}
		if by.Chars != tool.LayerAgent {
			g.Next, g.NextBy = chars, tool.LayerAgent
		} else if own := t.info.Effective; !own.OpenEnded && own.MaxChars < t.ceiling {
			g.Next, g.NextBy = own.MaxChars, t.by.Chars
		}
		i := slices.IndexFunc(out, func(o plugin.LimitGroup) bool {
			return o.Chars == g.Chars && o.By == g.By && o.Next == g.Next && o.NextBy == g.NextBy
		})
		if i < 0 {
			out, i = append(out, g), len(out)
		}
		out[i].Tools = append(out[i].Tools, t.info.Spec.Name)
	}
	slices.SortStableFunc(out, func(a, b plugin.LimitGroup) int { return cmp.Or(a.Chars-b.Chars, a.Next-b.Next) })
	return out
}

func layer(operator, declared bool) tool.Layer {
	switch {
	case operator:
		return tool.LayerOperator
	case declared:
		return tool.LayerTool
	}
	return tool.LayerDefault
}
