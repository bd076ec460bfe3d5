package bounds

import (
	"cmp"

	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// Layers are the limits that hold for all tools. They never change.
type Layers struct {
	Defaults   tool.Limits       // no field is zero but Memory, which then depends on the guest
	Ceiling    int               // the most characters of a result
	Highlights *limit.Highlights // Defaults.Keep
}

// Effective returns a tool with the limits that apply: the operator's settings take
// precedence over the tool's, and those over the defaults. The ceiling caps all. guest
// is the default memory of its guest; 0: it has none.
func (l *Layers) Effective(spec tool.Spec, owner string, operator tool.Limits, guest tool.Bytes) plugin.ToolInfo {
	declared, defaults := spec.Output, l.Defaults
	defaults.Memory = cmp.Or(defaults.Memory, guest)
	t := plugin.ToolInfo{
		Plugin: owner, Declared: declared, Operator: operator.MaxChars, Effective: operator.Or(declared).Or(defaults),
		CharsBy:    LayerOf(operator.MaxChars != 0, declared.MaxChars != 0),
		LinesBy:    LayerOf(operator.MaxLines != 0, declared.MaxLines != 0),
		StrategyBy: LayerOf(operator.Strategy != "", declared.Strategy != ""),
		TimeoutBy:  LayerOf(operator.Timeout != 0, declared.Timeout != 0),
	}
	if t.Effective.Memory != 0 {
		t.MemoryBy = LayerOf(operator.Memory != 0, declared.Memory != 0)
	}
	var by limit.By
	t.Effective, by = limit.Lower(t.Effective, limit.By{Chars: t.CharsBy, Lines: t.LinesBy}, l.Ceiling, tool.LayerCeiling)
	t.CharsBy = by.Chars
	t.Spec = spec
	t.Spec.Output = t.Effective
	return t
}

// Within returns the limits of one call, by which layer, for an agent with a limit of
// chars; 0: no agent calls. Where the tool's limit is open-ended the agent's replaces
// it; if that is more, the tool's lines do not count either, unless the operator set those.
func (l *Layers) Within(t *plugin.ToolInfo, chars int) (tool.Limits, limit.By) {
	of, by := t.Effective, limit.By{Chars: t.CharsBy, Lines: t.LinesBy}
	if chars <= 0 || !of.OpenEnded {
		return limit.Lower(of, by, chars, tool.LayerAgent)
	}
	usual := of.MaxChars
	of.MaxChars, by.Chars = chars, tool.LayerAgent
	of, by = limit.Lower(of, by, l.Ceiling, tool.LayerCeiling)
	if of.MaxChars > usual && by.Lines != tool.LayerOperator {
		of.MaxLines, by.Lines = 0, tool.LayerNone
	}
	return of, by
}

// Decide returns how much of the tool's results is shown to an agent with a limit of chars,
// and who decides it; 0: no agent calls. Every view shows what it returns.
func (l *Layers) Decide(t *plugin.ToolInfo, chars int) plugin.Decision {
	of, by := l.Within(t, chars)
	own := plugin.LayerLimit{Layer: tool.LayerTool, Chars: t.Declared.MaxChars}
	if own.Chars == 0 {
		own.Layer, own.Chars = tool.LayerDefault, l.Defaults.MaxChars
	}
	own.Replaced = t.Operator > 0 || chars > 0 && t.Effective.OpenEnded
	d := plugin.Decision{
		Chars: of.MaxChars, By: by.Chars, Lines: of.MaxLines, LinesBy: by.Lines, Next: l.Ceiling, NextBy: tool.LayerCeiling,
		Layers: []plugin.LayerLimit{own, {Layer: tool.LayerOperator, Chars: t.Operator}, {Layer: tool.LayerAgent, Chars: chars}, {Layer: tool.LayerCeiling, Chars: l.Ceiling}},
	}
	if chars > 0 && d.By != tool.LayerAgent {
		d.Next, d.NextBy = chars, tool.LayerAgent
	} else if chars > 0 && !t.Effective.OpenEnded && t.Effective.MaxChars < l.Ceiling {
		d.Next, d.NextBy = t.Effective.MaxChars, t.CharsBy
	}
	return d
}

// LayerOf returns the layer that decides a setting, by who states it.
func LayerOf(operator, declared bool) tool.Layer {
	switch {
	case operator:
		return tool.LayerOperator
	case declared:
		return tool.LayerTool
	}
	return tool.LayerDefault
}
