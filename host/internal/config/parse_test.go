package config

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// One run names every fault, also after values of the wrong type, and an unknown table
// once.
func TestParseNamesEveryFault(t *testing.T) {
	_, faults := Parse("f", `locale = "fr"
[limits]
max_chars = "x"
strategyy = "head"
[agent]
max_tool_calls = "many"
[models.a]
provider = 5
model = "m"
[tools.grep_search]
archive = "sometimes"
timeout = "soon"
[servers.other]
command = "x"
args = []
[[approvals.rule]]
tool = 1
action = "ask"
`)
	var lines []string
	for _, f := range faults {
		lines = append(lines, fmt.Sprint(f.Line))
	}
	if got := strings.Join(lines, " "); got != "1 3 4 6 8 11 12 13 17" {
		t.Errorf("faults at %s: %v", got, faults)
	}
	for _, want := range []string{"limits.max_chars: it is of type string", "max_tool_calls", "unknown key servers (did you mean server or mcpServers"} {
		if !strings.Contains(fmt.Sprint(faults), want) {
			t.Errorf("no %q in %v", want, faults)
		}
	}
	for _, text := range []string{"[server]\naddr = 7", "[server]\naddr = 1.5", "[server]\naddr = 2026-11-28", "[server]\naddr = [1]", "[server]\naddr = {}", "server = 1",
		"[server]\nhosts = 1", "[agent]\nenable_memory = 1", "[agent]\nmax_tool_calls = [true]", "[archive]\nsemantic_threshold = \"x\""} {
		_, faults := Parse("f", text)
		if got := fmt.Sprint(faults); len(faults) != 1 || regexp.MustCompile(`int64|float64|bool\b|slice|\bmap\b|\[\]|any|time\.|incompatible`).MatchString(got) {
			t.Errorf("%s: %s", text, got)
		}
	}
	// A syntax error ends the file.
	if _, faults := Parse("f", "[limits]\nmax_chars = \nstrategyy = 1\n"); len(faults) != 1 || faults[0].Line != 2 {
		t.Error(faults)
	}
}
