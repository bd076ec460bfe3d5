package plugintest

import (
	"fmt"
	"strings"

	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/sdk/tool"
)

// A Problem is one fault with its position.
type Problem struct {
	// File is relative to the current directory if the plugin's path is.
	File string `json:"file"`
	// Line and Col count from 1, Col in characters. Zero means the whole file.
	Line int `json:"line,omitempty"`
	Col  int `json:"column,omitempty"`
	// Msg states the problem, Fix the remedy. Fix may be empty.
	Msg tool.Text `json:"message"`
	Fix tool.Text `json:"hint,omitzero"`
	// Detail contains the texts that differ, on several lines. It may be empty.
	Detail string `json:"detail,omitempty"`
	// Warning marks a Problem that fails nothing.
	Warning bool `json:"warning,omitempty"`
}

// Text returns one line, file:line:col: problem; remedy, without Detail.
func (p Problem) Text() tool.Text {
	return registry.Problem{File: p.File, Line: p.Line, Col: p.Col, Msg: p.Msg, Fix: p.Fix, Warning: p.Warning}.Text()
}

// String returns Text in English.
func (p Problem) String() string { return p.Text().String() }

// problemsOf converts the problems of the registry.
func problemsOf(list []registry.Problem) (bad, warnings []Problem) {
	for _, x := range list {
		p := Problem{File: x.File, Line: x.Line, Col: x.Col, Msg: x.Msg, Fix: x.Fix, Warning: x.Warning}
		if p.Warning {
			warnings = append(warnings, p)
		} else {
			bad = append(bad, p)
		}
	}
	return bad, warnings
}

// indent adds two spaces before each line.
func indent(s string) string {
	return "  " + strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n  ")
}

// clip shortens a text for a message, in characters.
func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return fmt.Sprintf("%s… (%d characters in all)", string(r[:n]), len(r))
	}
	return s
}
