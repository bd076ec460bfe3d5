package prompt

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weirhost/weir/agent/internal/tsdecl"
	"github.com/weirhost/weir/sdk/tool"
)

// scriptShare is the part of the tools' budget that declarations for scripts may take.
const scriptShare = 4

// scriptPart declares the tools that a script finds, as many as there is room for: the
// pinned ones first, the others in their order. Where tools are searched for, the others
// are not declared: a script searches too, as run_script says, and without a pinned tool
// there is no part. It depends on the tools and the configuration alone.
func scriptPart(in Input, searched bool) string {
	w, room := For(in.Locale), in.Budget/scriptShare
	var lines []string
	pinned, others := scriptOrder(in)
	left := 0
	if searched {
		left, others = len(others), nil
	}
	for _, s := range append(pinned, others...) {
		line := Clean(tsdecl.Line(tsdecl.Tool{Name: s.Name, About: s.Describe(in.Locale), Params: s.Parameters(in.Locale), Output: s.OutputSchema}))
		if n := RuneCount(line) + 1; in.Budget < 0 || n <= room {
			room -= n
			lines = append(lines, line)
		} else {
			left++
		}
	}
	if searched && len(lines) == 0 {
		return ""
	}
	if left > 0 {
		lines = append(lines, fmt.Sprintf(w.scriptMore, left))
	}
	return w.scriptHead + "\n" + strings.Join(lines, "\n")
}

// scriptOrder returns the tools that a script may need declared. A result reads itself:
// the tools of the archive are not among them, and a script runs no script.
func scriptOrder(in Input) (pinned, others []tool.Spec) {
	for _, s := range in.Tools {
		switch {
		case tool.IsBuiltIn(s.Name) || s.Script:
		case in.Finding != nil && slices.Contains(in.Finding.Pinned, s.Name):
			pinned = append(pinned, s)
		default:
			others = append(others, s)
		}
	}
	return pinned, others
}
