package api

import (
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// ResultOf returns the wire form of a result, rendered in the language l.
func ResultOf(r tool.Result, elapsedMS int64, l tool.Locale) ToolCallResult {
	return ResultWithText(r, elapsedMS, limit.Render(r, l))
}

// ResultWithText is ResultOf for a result whose text is already rendered.
func ResultWithText(r tool.Result, elapsedMS int64, text string) ToolCallResult {
	out := CountsOf(r)
	out.ElapsedMS, out.Text, out.Read = elapsedMS, text, out.Shown
	if r.Shown.Cut() || r.Shown.Summarized {
		out.Read, _ = limit.Count(text)
	}
	out.Line = limit.LineOf(r, out.Read)
	return out
}

// CountsOf is ResultOf without the texts and the time.
func CountsOf(r tool.Result) ToolCallResult {
	shownChars, shownLines := limit.Count(r.Shown.Text)
	out := ToolCallResult{
		ID: r.CallID, Tool: r.Tool, OK: r.Err == nil, Error: r.Err,
		Produced: r.Shown.TotalChars, Shown: shownChars, Unkept: r.Unkept, Incomplete: r.Incomplete, Refused: r.Refused,
		Summarized: r.Shown.Summarized, SummaryCost: r.Summary, Approval: r.Approval,
		LinesProduced: r.Shown.TotalLines, LinesShown: shownLines,
	}
	for _, k := range r.Shown.Kept {
		out.Kept = append(out.Kept, KeptLine{k.Line, clip(r.Shown.Text[k.At:k.End]), k.By, k.Times})
	}
	out.Calls = callsOf(r.Inner)
	out.LeftOut, out.Gaps = r.Shown.LeftOut, GapsOf(r.Shown)
	if r.Shown.Cut() {
		out.Layer, out.Limit, out.Unit = r.Shown.By, r.Shown.Limit, r.Shown.Unit
	}
	if r.Load != nil {
		out.LoadedUUID = r.Load.UUID
	}
	if r.Ref != nil {
		out.KeptUUID, out.Parts = r.Ref.UUID, r.Ref.Parts
	}
	return out
}

// clip returns the first 200 characters of a line.
func clip(line string) string {
	n := 0
	for i := range line {
		if n++; n > 200 {
			return line[:i] + "…"
		}
	}
	return line
}

// PercentCut returns the omitted part of a result in whole percent, rounded down.
// from and to are characters.
func PercentCut(from, to int) int {
	if from <= 0 {
		return 0
	}
	return (from - to) * 100 / from
}
