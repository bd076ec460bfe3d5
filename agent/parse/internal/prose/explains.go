package prose

import "strings"

// doubts are in a text that explains a call or asks about it.
var doubts = []string{
	"?", "？", "```", "replace", "placeholder", "sample", "your ", "suppose", "assum", "imagine", "tutorial", "documentation", " would ", " could ", " should ", " might ", " can ", " may ", "if you", " please", "let me know", "sorry", "quot", "looks like", "look like", "instead", "cannot", "can't", "unable",
	"替换", "引用", "假设", "如果", "可以", "应该", "请", "无法", "不能",
}

// Explains reports whether a text around a block has a sign that the block is shown: it
// speaks of examples, forms, results or the reader, asks, or is laid out as a document.
func Explains(text string) bool {
	low := " " + strings.ToLower(text)
	if hasCue(low, exampleCues) || hasCue(low, formCues) || hasCue(low, resultCues) || hasCue(low, doubts) || hasCue(low, shows) || hasCue(low, adviceCues) {
		return true
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && strings.IndexByte("#|>-*<{[", line[0]) >= 0 {
			return true
		}
	}
	return false
}
