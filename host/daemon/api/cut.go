package api

import (
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// A CutBody is the body of POST /api/cut: a text or an archived result, and limits. A limit
// that is left out, or 0, is the one in force for the tool.
type CutBody struct {
	// UUID is an archived result, Text a text; exactly one of them.
	UUID string  `json:"uuid,omitempty"`
	Text *string `json:"text,omitempty"`
	// Tool has the other limits; empty: the tool of the archived result, or one that
	// declares nothing.
	Tool     string        `json:"tool,omitempty"`
	MaxChars int           `json:"max_chars,omitempty"`
	MaxLines int           `json:"max_lines,omitempty"`
	Strategy tool.Strategy `json:"strategy,omitempty"`
	Head     float64       `json:"head,omitempty"`
	Tail     float64       `json:"tail,omitempty"`
	// Keep are expressions of lines to show first, at most 64; "auto" and "none" as in a
	// manifest.
	Keep        []string `json:"keep,omitempty"`
	KeepContext int      `json:"keep_context,omitempty"`
	// Agent is max_tool_result_length of an agent that calls; absent: no agent calls.
	Agent  *int        `json:"max_tool_result_length,omitempty"`
	Locale tool.Locale `json:"locale,omitempty"` // of the notice
}

// Limits are those of the body.
func (b CutBody) Limits() tool.Limits {
	return tool.Limits{MaxChars: b.MaxChars, MaxLines: b.MaxLines, Strategy: b.Strategy, Head: b.Head, Tail: b.Tail, Keep: b.Keep, KeepContext: b.KeepContext}
}

// A CutText is what a model would read under limits.
type CutText struct {
	// Text is what the model would read, notice included; Tokens estimates it.
	Text   string `json:"text"`
	Tokens int    `json:"tokens"`
	// Produced and Shown count characters; Shown without the notice.
	Produced      int        `json:"produced"`
	Shown         int        `json:"shown"`
	LinesProduced int        `json:"lines_produced"`
	LinesShown    int        `json:"lines_shown"`
	Layer         tool.Layer `json:"layer,omitempty"` // that decides; empty: all is shown
	Limit         int        `json:"limit,omitempty"`
	Unit          tool.Unit  `json:"unit,omitempty"`
	Gaps          []Gap      `json:"gaps,omitempty"`
	Kept          []KeptLine `json:"kept,omitempty"`
	LeftOut       int        `json:"left_out,omitempty"`
	// MaxChars and MaxLines are the limits that the text was cut under, CharsBy and LinesBy
	// their layers.
	MaxChars int        `json:"max_chars"`
	MaxLines int        `json:"max_lines"`
	CharsBy  tool.Layer `json:"chars_by"`
	LinesBy  tool.Layer `json:"lines_by"`
}

// CutTextOf returns what a model would read of r, which was cut under l.
func CutTextOf(r tool.Result, text string, tokens int, l tool.Limits, by limit.By) CutText {
	c := CountsOf(r)
	return CutText{
		Text: text, Tokens: tokens, Produced: c.Produced, Shown: c.Shown, LinesProduced: c.LinesProduced, LinesShown: c.LinesShown,
		Layer: c.Layer, Limit: c.Limit, Unit: c.Unit, Gaps: c.Gaps, Kept: c.Kept, LeftOut: c.LeftOut,
		MaxChars: l.MaxChars, MaxLines: l.MaxLines, CharsBy: by.Chars, LinesBy: by.Lines,
	}
}
