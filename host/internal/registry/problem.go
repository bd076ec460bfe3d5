package registry

import (
	"fmt"
	"strings"

	"github.com/weirhost/weir/host/internal/text"
)

// A Problem is one thing about a plugin that a person should change.
type Problem struct {
	// File is the manifest, or the file the Problem is about.
	File string
	// Line and Col count from 1, Col in characters; 0: the file as a whole.
	Line, Col int
	// Key is the manifest key meant, for example tool.output.max_chars; it may be empty.
	Key string
	// Msg says what is wrong, Fix what to change; Fix may be empty.
	Msg, Fix string
	// Warning marks a Problem that does not keep the plugin from running.
	Warning bool
}

// String is one line: file:line:col: what is wrong; what to change.
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

// maxSaid bounds what a Problem says, in bytes.
const maxSaid = 1 << 10

// tame makes a Problem fit to be shown on a terminal: names in it are a
// stranger's, who may have put commands for the terminal into them.
func (p Problem) tame() Problem {
	p.Key, p.Msg, p.Fix = tameText(p.Key), tameText(p.Msg), tameText(p.Fix)
	return p
}

func tameText(s string) string {
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

// A Refusal is a plugin that cannot be used, and why.
type Refusal struct {
	// Name is the plugin's name as far as it is known, else that of its folder or file.
	Name string
	// Place is the name of its folder or file.
	Place string
	// Source is the file or folder a person has to look at.
	Source   string
	Folder   Folder
	Problems []Problem
	// Gone says that the module's file is not there.
	Gone bool
	// WasmSHA256 is its module's, in hex; empty: the module was not read.
	WasmSHA256 string
	// Untold says that the module was asked for its tools and has not answered.
	Untold bool
}

// Why is the first reason in one line, with the number of further ones.
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
