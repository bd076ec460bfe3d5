package script

import (
	"maps"
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
	switch {
	case f.Line > 0 && slices.Contains([]tool.Code{tool.Denied, tool.RateLimited, tool.OutcomeUnknown, tool.Cancelled}, tool.Code(f.Code)):
		return tool.Textf("the call is in line %d, column %d of the script: %s", f.Line, f.Column, lineOf(x.Source, f.Line)) // it is right
	case f.Line > 0:
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
	case name == "" && f.Code == scriptvm.Syntax && strings.HasPrefix(lineOf(x.Source, f.Line), "export"):
		return tool.Textf("a script exports nothing: its statements run from the first to the last, and return gives the answer")
	case name == "" && len(x.Made) > 0 && strings.HasPrefix(f.Message, "TypeError: cannot read property"):
		return tool.Textf("the JSON of a result is await r.json(), its text await r.text()")
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
	if near := text.Nearest(name, slices.Sorted(maps.Keys(x.names))); len(near) > 0 {
		return tool.NewError(tool.UnknownTool, tool.Textf("there is no tool %q", name), tool.Textf("did you mean one of these: %s", strings.Join(near, ", ")))
	}
	return unknown(name)
}

// tellUnawaited says what the script did not await: calls and errors.
// Those calls that were under way have no outcome.
func (x *run) tellUnawaited(state scriptvm.State) {
	names := state.Idle
	for _, w := range state.Wants { // which have not begun
		if w.Kind == "call" {
			names = append(names, w.Tool)
		}
	}
	for _, w := range x.wants {
		if w.Kind != "call" {
			continue
		}
		names = append(names, w.Tool)
		if w.landed { // its question has no answer any more
			x.Made[w.number].Fault = tool.Cancelled
		}
	}
	if n := len(names); n > 0 {
		slices.Sort(names)
		x.tell(tool.Textf("the script did not await %d calls, and what came of them is lost: %s; await Promise.all(list.map(…)) waits for all, forEach for none", n, strings.Join(slices.Compact(names), ", ")))
	}
	for _, reason := range state.Rejected {
		x.tell(tool.Textf("a promise was rejected and nothing awaited it: %s", reason))
	}
}

// tell logs a line of the host, which the model reads whatever the script has logged.
func (x *run) tell(t tool.Text) {
	line := msg.In(x.Locale, t)
	x.Log, x.told = append(x.Log, line), append(x.told, line)
}

// lost keeps what came of a call that ended after its script.
func (x *run) lost(a answered) {
	if a.want.Kind != "call" || a.away || a.want.parked {
		return
	}
	if a.err != nil {
		a.made.Fault = tool.Cancelled
		if a.want.begun && x.store.repeats(a.want.Tool) == Once {
			a.made.Fault = tool.OutcomeUnknown
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.Made[a.want.number] = a.made
}
