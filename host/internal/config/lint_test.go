package config

import (
	"strings"
	"testing"
)

func TestPositionOfASyntaxError(t *testing.T) {
	for _, row := range []struct {
		why, text string
		line, col int
	}{
		{"a duplicate at the beginning of its line", "max = 1\nlonger_line = 2\nmax = 3\n", 3, 1},
		{"after an empty line", "a = 1\nb = 2\n\nb = 3\n", 4, 1},
		{"an indented duplicate, at its whole key", "[x]\n  a.b = 1\n  a.b = 2\n", 3, 3},
		{"a table twice, at its name", "[limits]\nmax_lines = 5\n[limits]\n", 3, 2},
		{"a value that is missing", "[limits]\nmax_chars = = 3\n", 2, 13},
		{"characters are counted, not bytes", "x = {\"中文\" = 1, y = 01}\n", 1, 20},
		{"a mark in front is no column", "\uFEFFa = 1\na = 2\n", 2, 1},
		{"lines of another system", "a = 1\r\nb = 2\r\na = 2\r\n", 3, 1},
	} {
		_, faults := Parse("f", row.text)
		if len(faults) != 1 || faults[0].Line != row.line || faults[0].Col != row.col {
			t.Errorf("%s: %v, want %d:%d", row.why, faults, row.line, row.col)
		}
	}
}

// A key without effect is reported with its position and a fix. Keys with an effect are
// not reported, nor are those that depend on a running plugin or server.
func TestLintReportsKeysWithoutEffect(t *testing.T) {
	const two = "[models.a]\nprovider = \"ollama\"\nmodel = \"x\"\nfallback = [\"b\"]\n[models.b]\nprovider = \"ollama\"\nmodel = \"y\"\n"
	const user = "[users.ann]\ntoken_sha256 = \"0000000000000000000000000000000000000000000000000000000000000000\"\n"
	const model = "[models.m]\nprovider = \"ollama\"\nmodel = \"x\"\nnative_tools = false\n"
	for _, row := range []struct{ text, want string }{
		{"[clients.opencode]\nkeep = false\nfold = true\n", "f:3:1: [clients.opencode] fold has no effect, because keep is false"},
		{"[clients.opencode]\nfold = true\nweir_tools = true\n", ""},
		{"[agent]\nenable_tool_calling = false\n  enable_planning = true\n", "f:3:3: [agent] enable_planning has no effect, because enable_tool_calling is false (remove it, or set enable_tool_calling = true)"},
		{"[agent]\nmax_tool_calls = -1\nenable_reflection = true\n", "f:3:1: [agent] enable_reflection has no effect, because max_tool_calls is -1, which allows no call"},
		{"[agents.bare]\ntools = []\nprefetch = [\"a\"]\n", "f:3:1: [agents.bare] prefetch has no effect, because tools is empty"},
		{"[agent]\nmode = \"native\"\nenable_tool_calling = false\n", "f:2:1: [agent] mode has no effect"},
		{"[agent]\ntools = [\"a\"]\ndeny_tools = [\"b\", \"a\"]\n", `f:3:1: [agent] deny_tools names "a", and tools does too: it is denied (remove it from one of the two)`},
		{"[agent]\ntools = [\"a\"]\nprefetch = [\"b\"]\n", `f:3:1: [agent] prefetch names "b", which the profile may not use`},
		{"[agent]\ndeny_tools = [\"b\"]\nprefetch = [\"b\"]\n", `f:3:1: [agent] prefetch names "b", which the profile may not use`},
		{model + "[agent]\nmodel = \"m\"\nmode = \"native\"\n", `f:7:1: [agent] mode is "native", and [models.m] says native_tools = false`},
		{model + "[agent]\nmodel = \"m\"\nmode = \"auto\"\n", ""},
		{"[agent]\ntools = [\"a\", \"b\"]\ndeny_tools = [\"c\"]\nprefetch = [\"b\"]\nenable_planning = true\nmax_tool_calls = 0\n", ""},
		{"[sandbox]\nparallel = 16\n[agents.wide]\n  parallel_calls = 8\n", "f:4:3: [agents.wide] parallel_calls is 8, and one plugin runs 4 calls at once: its others wait (set parallel = 8 in [tools.NAME] of its tools or parallel = 32 below [sandbox], or lower parallel_calls to 4)"},
		{"[sandbox]\nparallel = 16\n[agent]\nparallel_calls = 17\n[tools.a]\nparallel = 16\n", "f:4:1: [agent] parallel_calls is 17, and all plugins together run 16 calls at once: the others wait (set parallel = 17 below [sandbox], of which one plugin gets a quarter, or lower parallel_calls to 16)"},
		{"[sandbox]\nparallel = 32\n[agent]\nparallel_calls = 8\n", ""},
		{"[sandbox]\nparallel = 16\n[agent]\nparallel_calls = 8\n[tools.a]\nparallel = 8\n", ""},
		{"[sandbox]\nparallel = 2\n[agent]\nparallel_calls = 4\n", ""}, // as when it is left out
		{"[agent]\nparallel_calls = -1\n", ""},
		{"[agent]\nenable_tool_calling = false\n", ""},
		{two + "fallback = [\"a\"]\n", "f:4:1: [models.a] fallback leads back to a: a → b → a (remove one of them, unless "},
		{two + "fallback = [\"demo\"]\n", ""},
		{two + user + "models = [\"a\"]\n", "f:4:1: [models.a] fallback leads to \"b\", which the user ann may not use: it is passed over"},
		{two + user + "models = [\"a\", \"b\"]\n", ""},
		{two + "[agent]\nmodel = \"b\"\nfallback = [\"demo\"]\n" + user + "models = [\"b\"]\n", "f:10:1: [agent] fallback leads to \"demo\", which the user ann may not use"},
		{two + "[agents.x]\nmodel = \"b\"\nfallback = [\"demo\"]\n" + user + "models = [\"b\"]\nprofiles = [\"default\"]\n", ""},
		{"", ""},
	} {
		s, faults := Parse("f", row.text)
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		got := s.Lint()
		if inForce := s.WithDefaults().Lint(); len(inForce) != len(got) {
			t.Errorf("%q: %v, and with the defaults %v", row.text, got, inForce)
		}
		if row.want == "" && len(got) > 0 || row.want != "" && (len(got) != 1 || !strings.HasPrefix(got[0].String(), row.want)) {
			t.Errorf("%q: %v, want %q", row.text, got, row.want)
		}
	}
}
