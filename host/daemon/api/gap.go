package api

import (
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/sdk/tool"
)

// A Gap is a run of the whole that the model is not shown: the lines First to Last, from
// 1, of which the first and the last can be shown in part. Both are 0 in a cut by the
// strategy json, which omits values, not lines.
type Gap struct {
	First int `json:"first"`
	Last  int `json:"last"`
	Chars int `json:"chars"`
	Lines int `json:"lines"`
}

// GapsOf returns what a view does not show, in order.
func GapsOf(v tool.View) []Gap {
	var out []Gap
	for _, g := range v.Gaps {
		out = append(out, Gap{g.First, g.Last, g.Chars, g.Lines})
	}
	return out
}

// A ShownPart says which part of an archived result the model was shown when the result
// came, the last time if it came repeatedly.
type ShownPart struct {
	Conversation string     `json:"conversation_id"`
	Turn         int        `json:"turn"` // 0: a call that belongs to no turn
	CallID       string     `json:"call_id"`
	Chars        int        `json:"chars"`
	Lines        int        `json:"lines"`
	Layer        tool.Layer `json:"layer,omitempty"` // empty: all of it was shown
	Limit        int        `json:"limit,omitempty"`
	Unit         tool.Unit  `json:"unit,omitempty"`
	Summarized   bool       `json:"summarized,omitempty"`
	Gaps         []Gap      `json:"gaps,omitempty"`
	KeptLines    []int      `json:"kept_lines,omitempty"` // shown for an expression
}

// ShownPartOf returns what the call log says about a call's result.
func ShownPartOf(c store.Call, lines int) ShownPart {
	out := ShownPart{Conversation: c.Scope.Conversation, Turn: c.Turn, CallID: c.CallID, Chars: c.Shown, Lines: lines}
	if v, ok := c.Cut(); ok {
		_, missing := v.Missing()
		out.Lines, out.Layer, out.Limit, out.Unit, out.Summarized, out.Gaps = v.TotalLines-missing, v.By, v.Limit, v.Unit, v.Summarized, GapsOf(v)
		out.KeptLines = KeptLinesOf(v)
	}
	return out
}

// KeptLinesOf returns the numbers of the lines of a whole that v shows for an expression.
func KeptLinesOf(v tool.View) (lines []int) {
	for _, k := range v.Kept {
		lines = append(lines, k.Line)
	}
	return lines
}
