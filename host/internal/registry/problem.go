package registry

import (
	"fmt"
	"strings"

	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/host/plugin"
)

// A Problem is one fault of a plugin that a person should fix.
type Problem struct {
	// File is the manifest, or the file the Problem is about.
	File string
	// Line and Col count from 1, Col in characters. Zero means the whole file.
	Line, Col int
	// Key is the manifest key meant, for example tool.output.max_chars; it may be empty.
	Key string
	// Msg states the problem, Fix the remedy. Fix may be empty.
	Msg, Fix string
	// Warning marks a Problem with which the plugin can still run.
	Warning bool
}

// String returns one line: file:line:col: problem; remedy.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(text.InLine(p.File))
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Col)
	}
	if p.File != "" {
		b.WriteString(": ")
	}
	if p.Warning {
		b.WriteString("warning: ")
	}
	b.WriteString(p.Msg)
	if p.Fix != "" {
		b.WriteString("; " + p.Fix)
	}
	return b.String()
}

// maxSaid bounds each text of a Problem, in bytes.
const maxSaid = 1 << 10

// sanitize makes a Problem safe for a terminal. Names in it are untrusted and may
// contain escape sequences.
func (p Problem) sanitize() Problem {
	p.Key, p.Msg, p.Fix = sanitizeText(p.Key), sanitizeText(p.Msg), sanitizeText(p.Fix)
	return p
}

func sanitizeText(s string) string {
	cut := len(s) > maxSaid
	if cut {
		s = s[:maxSaid]
	}
	s = text.InLine(strings.ToValidUTF8(s, ""))
	if cut {
		s += "…"
	}
	return s
}

// errorsOf returns the problems that are not warnings.
func errorsOf(problems []Problem) []Problem { return pick(problems, false) }

// warningsOf returns the problems that are warnings.
func warningsOf(problems []Problem) []Problem { return pick(problems, true) }

func pick(problems []Problem, warning bool) []Problem {
	var out []Problem
	for _, p := range problems {
		if p.Warning == warning {
			out = append(out, p)
		}
	}
	return out
}

// A Refusal is an invalid plugin, with the reasons.
type Refusal struct {
	// Name is the plugin's name as far as it is known, else that of its folder or file.
	Name string
	// Place is the name of its folder or file.
	Place string
	// Source is the file or folder a person has to look at.
	Source   string
	Folder   plugin.Folder
	Problems []Problem
	// Gone reports that the module's file is missing.
	Gone bool
	// WasmSHA256 is its module's, in hex; empty: the module was not read.
	WasmSHA256 string
	// ListFailed reports that the request for the tool list failed.
	ListFailed bool
}

// Why returns the first reason on one line, with the number of further ones.
func (r Refusal) Why() string {
	if len(r.Problems) == 0 {
		return ""
	}
	why := r.Problems[0].String()
	if more := len(r.Problems) - 1; more > 0 {
		why += fmt.Sprintf(" (and %d more)", more)
	}
	return why
}
