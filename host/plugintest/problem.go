package plugintest

import (
	"fmt"
	"strings"

	"github.com/weirhost/weir/host/internal/registry"
)

// A Problem is one thing to mend, with its place.
type Problem struct {
	// File is relative to where the caller stands, as the plugin's path was given.
	File string `json:"file"`
	// Line and Col count from 1, Col in characters; 0: the file as a whole.
	Line int `json:"line,omitempty"`
	Col  int `json:"column,omitempty"`
	// Msg says what is wrong, Fix what to do about it; Fix may be empty.
	Msg string `json:"message"`
	Fix string `json:"hint,omitempty"`
	// Detail holds the texts that differ, over several lines; it may be empty.
	Detail string `json:"detail,omitempty"`
	// Warning marks a Problem that does not fail anything.
	Warning bool `json:"warning,omitempty"`
}

// String is one line, file:line:col: what is wrong; what to do. Detail is not in it.
func (p Problem) String() string {
	return registry.Problem{File: p.File, Line: p.Line, Col: p.Col, Msg: p.Msg, Fix: p.Fix, Warning: p.Warning}.String()
}

// problemsOf takes over what the registry has to say.
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

// indent puts two spaces more in front of each line.
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
