package registry

import (
	"strings"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
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
	Msg, Fix tool.Text
	// Warning marks a Problem with which the plugin can still run.
	Warning bool
}

// Text returns one line: file:line:col: problem; remedy.
func (p Problem) Text() tool.Text {
	t := p.Msg
	if !p.Fix.IsZero() {
		t = tool.Textf("%v; %v", p.Msg, p.Fix)
	}
	if p.Warning {
		t = tool.Textf("warning: %v", t)
	}
	switch {
	case p.Line > 0:
		return tool.Textf("%s:%d:%d: %v", text.InLine(p.File), p.Line, p.Col, t)
	case p.File != "":
		return tool.Textf("%s: %v", text.InLine(p.File), t)
	}
	return t
}

// String returns Text in English.
func (p Problem) String() string { return p.Text().String() }

// maxSaid bounds each text of a Problem, in bytes.
const maxSaid = 1 << 10

// sanitize makes a Problem safe for a terminal. Names in it are untrusted and may
// contain escape sequences.
func (p Problem) sanitize() Problem {
	p.Key, p.Msg, p.Fix = sanitizeText(p.Key), msg.Clean(p.Msg, sanitizeText), msg.Clean(p.Fix, sanitizeText)
	return p
}

func sanitizeText(s string) string {
	if len(s) > maxSaid {
		return sanitizeText(s[:maxSaid]) + "…"
	}
	return strings.Clone(text.InLine(strings.ToValidUTF8(s, ""))) // a part of a manifest keeps the whole in memory
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
	// ListFailed reports that the request for the tool list failed, or that the process
	// was lost that checked the manifest; WasmSHA256 is then the manifest's.
	ListFailed bool

	manifest string // its digest, if the reason is in that text alone
}

// Why returns the first reason on one line, with the number of further ones.
func (r Refusal) Why() tool.Text {
	if len(r.Problems) == 0 {
		return tool.Text{}
	}
	why := r.Problems[0].Text()
	if more := len(r.Problems) - 1; more > 0 {
		return tool.Textf("%v (and %d more)", why, more)
	}
	return why
}
