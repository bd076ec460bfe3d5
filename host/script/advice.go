package script

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/scriptvm"
	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/sdk/tool"
)

// undefinedName matches an error about a name that is not there.
var undefinedName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^ReferenceError: '?([\w$]+)'? is not defined`) })

// elsewhere are names that programs have in other places.
var elsewhere = []string{"require", "module", "exports", "process", "fetch", "XMLHttpRequest", "WebSocket", "fs", "path", "os", "Buffer", "Deno", "Bun", "window", "document", "setTimeout", "setInterval", "functions"}

// mostLine is how much of a line an advice repeats, in characters.
const mostLine = 120

// advice returns how to correct a fault: where, and how tools are called if that is what
// the script has not right.
func (x *run) advice(f scriptvm.Fault) tool.Text {
	where := tool.Textf("correct the script")
	if f.Line > 0 {
		where = tool.Textf("correct line %d, column %d of the script: %s", f.Line, f.Column, lineOf(x.Source, f.Line))
	}
	how := x.howToCall(f)
	if how.IsZero() {
		return where
	}
	return tool.Textf("%v; %v", where, how)
}

// howToCall returns how tools are called; zero: the fault has nothing to do with that.
func (x *run) howToCall(f scriptvm.Fault) tool.Text {
	name := ""
	if m := undefinedName().FindStringSubmatch(f.Message); m != nil {
		name = m[1]
	}
	switch {
	case name == "" && f.Code == scriptvm.Syntax && strings.Contains(lineOf(x.Source, f.Line), "import"):
		return tool.Textf("a script has no imports, files or network: tools are called as await tools.NAME({…})")
	case name == "":
		return tool.Text{}
	case x.names[name]:
		return tool.Textf("write await tools.%s({…})", name)
	case slices.Contains(elsewhere, name):
		return tool.Textf("a script has no imports, files or network: tools are called as await tools.NAME({…})")
	}
	return tool.Text{}
}

// lineOf returns a line of a source, without the space around it, clipped.
func lineOf(source string, line int) string {
	lines := strings.Split(source, "\n")
	if line < 1 || line > len(lines) {
		return ""
	}
	l := []rune(strings.TrimSpace(lines[line-1]))
	if len(l) > mostLine {
		l = append(l[:mostLine-1], '…')
	}
	return string(l)
}

// noTool says that a tool is not there, and which names are near.
func (x *run) noTool(name string) *tool.Error {
	var names []string
	for n := range x.names {
		names = append(names, n)
	}
	slices.Sort(names)
	if near := text.Nearest(name, names); len(near) > 0 {
		return tool.NewError(tool.UnknownTool, tool.Textf("there is no tool %q", name), tool.Textf("did you mean one of these: %s", strings.Join(near, ", ")))
	}
	return unknown(name)
}

// tellUnawaited logs the calls that the script did not await, and the errors that it did
// not see.
func (x *run) tellUnawaited(state scriptvm.State) {
	if n := len(state.Idle); n > 0 {
		slices.Sort(state.Idle)
		x.log(msg.In(x.Locale, tool.Textf("the script did not await %d calls, and what came of them is lost: %s", n, strings.Join(slices.Compact(state.Idle), ", "))))
	}
	for _, reason := range state.Rejected {
		x.log(msg.In(x.Locale, tool.Textf("a promise was rejected and nothing awaited it: %s", reason)))
	}
}
