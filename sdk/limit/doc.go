// Package limit is the cutter: it says what of a tool's whole result is shown
// to a model, and in which words the rest is accounted for.
//
// The way of a text through the package has three steps, each done once:
//
//	raw bytes ── Normalise ──► whole ── Apply or Fit ──► tool.View ── Render ──► what the model reads
//
// Every cut is made from the whole, never from a cut. The notice about what is
// missing is data (tool.Gap) until Render puts it into words, inside the budget
// that Apply reserved for it. So the numbers are exact and no text of a tool
// can forge them: Render neutralises the tool's text before it adds its own.
//
// Everything here is a pure function: no clock, no state, no input or output.
// A character is a Unicode code point of the normalised text; a line is a
// newline, plus one for an unended last line.
package limit

// RulesVersion is the version of the rules of Normalise. An archive keeps it
// beside the text, because line numbers and offsets mean the text under these
// rules.
const RulesVersion = 1
