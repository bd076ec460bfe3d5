// Package limit cuts the result of a tool to a limit and writes the notice about
// the missing part.
//
// A text passes through three steps, each done once:
//
//	raw bytes ── Normalise ──► whole ── Apply or Fit ──► tool.View ── Render ──► what the model reads
//
// Every cut starts from the whole, never from an earlier cut. The notice is data
// (tool.Gap) until Render writes it within the room that Apply reserved. The
// numbers are therefore exact. A tool cannot forge them, because Render
// neutralises the tool's text before it adds its own.
//
// All functions are pure: no clock, no state, no input or output. A character is
// a Unicode code point of the normalised text. A last line without a newline
// counts as a line.
//
// # Files
//
//   - cut: the one cut
//   - cutter: head, tail
//   - keep, highlights: lines to keep
//   - jsoncut, jsontree: JSON
//   - boundary, count: characters
//   - effective: which limit counts
//   - notice: the notice
//   - render: text and notice
//   - restore: the same cut again
//   - normalise, binary: what a text is before the cut
//   - neutralise: marks that would begin a call
//   - visible: what a person sees
package limit

// RulesVersion is the version of the rules of Normalise. An archive stores it
// with the text, because line numbers and offsets depend on these rules.
const RulesVersion = 1
