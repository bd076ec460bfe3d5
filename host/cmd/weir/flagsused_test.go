package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/internal/testtime"
)

// A flagUse shows that a flag reaches a running daemon: shows matches what the command
// prints with the flag and not what it prints without; hides the other way round.
type flagUse struct {
	args         string
	flag         string
	shows, hides string
}

// elsewhere lists the flags whose effect no single command prints, each with the test
// that shows it.
var elsewhere = map[string]string{
	"approvals allow --always": "the end of TestEveryFlagWithADaemon",
	"approvals allow --only":   "TestCardOfAScript",
	"ask --wait":               "the end of TestEveryFlagWithADaemon",
	"ask --think":              "the chat's tests: the demo model does not think",
	"chat --think":             "the chat's tests: the demo model does not think",
	"mcp add --dry-run":        "TestScripts/mcpadd",
	"mcp add --env":            "TestScripts/mcpadd",
	"mcp add --force":          "TestScripts/mcpadd",
	"mcp add --from":           "TestScripts/mcpadd",
	"mcp add --header":         "TestScripts/mcpadd",
	"mcp add --trust-hints":    "TestScripts/mcpadd",
	"mcp add --url":            "TestScripts/mcpadd",
	"mcp add --yes":            "TestScripts/mcpadd",
	"mcp remove --dry-run":     "TestScripts/mcpadd",
	"mcp remove --yes":         "TestScripts/mcpadd",
	"client revoke --id":       "TestScripts/install",
	"chat --no-history":        "TestChatHistory: there is no terminal here",
	"user remove --purge":      "TestUserRemove",
	"scripts resume --allow":   "TestResume of package scriptcmd",
	"scripts resume --always":  "TestResume of package scriptcmd",
	"scripts resume --deny":    "TestResume of package scriptcmd",
	"scripts resume --only":    "TestResume of package scriptcmd",
}

// flagUses has a row for each flag of each command that works with the daemon. In args
// and flag, A is the id of the first conversation. The archive has a result "older" and,
// in A, a "newer" one.
var flagUses = map[string]flagUse{
	"archive export --conversation":  {"archive export", "--conversation=A", "newer", ""},
	"archive grep --context":         {"archive grep last hit", "-C1", "before", ""},
	"archive list --conversation":    {"archive list", "--conversation=A", "", "older before"},
	"archive list --limit":           {"archive list", "--limit=1", "", "older before"},
	"archive list --query":           {"archive list", "--query=newer", "", "older before"},
	"archive list --tool":            {"archive list", "--tool=other", "", "older before"},
	"archive prune --dry-run":        {"archive prune", "--dry-run", "would remove", ""},
	"archive rm --conversation":      {"archive rm", "--conversation=none", "no conversation", ""},
	"archive search --conversation":  {"archive search hit", "--conversation=A", "", "older before"},
	"archive search --limit":         {"archive search hit", "--limit=1", "", "older before"},
	"archive show --output":          {"archive show last", "--output=whole.txt", "whole.txt: ", ""},
	"archive show --part":            {"archive show last --output=whole.txt", "--part=1", "no part 1", ""},
	"ask --continue":                 {"ask --json=events more", "--continue", `"turn":[2-9]`, ""},
	"ask --conversation":             {"ask --json=events more", "--conversation=A", "A", ""},
	"ask --explain":                  {"ask more", "--explain", "What was sent", ""},
	"ask --file":                     {"ask more", "--file=none", "cannot be read", ""},
	"ask --model":                    {"ask more", "--model=none", `no model named "none"`, ""},
	"ask --profile":                  {"ask more", "--profile=none", `no profile named "none"`, ""},
	"ask --quiet":                    {"ask more", "--quiet", "", "the demo model answers"},
	"call --conversation":            {"call say text=x", "--conversation=none", "no conversation", ""},
	"call --locale":                  {"call say no=x", "--locale=zh", "错误", ""},
	"chat --continue":                {"chat", "--continue", "turn [2-9] of", ""},
	"chat --conversation":            {"chat", "--conversation=none", "no conversation", ""},
	"chat --model":                   {"chat", "--model=none", `no model named "none"`, ""},
	"chat --profile":                 {"chat", "--profile=none", `no profile named "none"`, ""},
	"conversation export --archives": {"conversation export A", "--archives", `"result_full": "newer`, ""},
	"conversation export --format":   {"conversation export A", "--format=markdown", "# first question", ""},
	"conversation export --locale":   {"conversation export A --format=markdown", "--locale=zh", "会话", ""},
	"conversation export --output":   {"conversation export A", "--output=written", "", "first question"},
	"conversation list --cursor":     {"conversation list", "--cursor=none", "the cursor is not valid", ""},
	"conversation list --limit":      {"conversation list", "--limit=1", "", "first question"},
	"conversation search --limit":    {"conversation search question", "--limit=1", "", "first question"},
	"plugin approve --all":           {"plugin approve", "--all", "asker", ""},
	"plugin approve --host":          {"plugin approve asker --yes", "--host=api.example.com", `granted in .* hosts = \["api`, ""},
	"plugin approve --path":          {"plugin approve asker --yes", "--path=/data=.", "granted in .* paths = ", ""},
	"plugin approve --secret":        {"plugin approve asker --yes", "--secret=KEY", "granted in .* secrets = ", ""},
	"plugin approve --yes":           {"plugin approve second", "--yes", "approved second", ""},
	"plugin remove --keep-files":     {"plugin remove none", "--keep-files", `no plugin named "none"`, ""},
	"plugin remove --yes":            {"plugin remove none", "--yes", `no plugin named "none"`, ""},
	"plugin rollback --to":           {"plugin rollback say", "--to=abcdef", "abcdef", ""},
	"tools find --count":             {"tools find load_tool_history,search_tool_history", "--count=1", "", "search_tool_history"},
	"tools find --explain":           {"tools find load_tool_history", "--explain", "named in the question", ""},
	"tools find --jsonl":             {"tools find", "--jsonl", "", "the question is missing"},
	"tools find --tools":             {"tools find load_tool_history", "--tools=none", "cannot be read", ""},
	"script run --allow":             {"script run say.js", "--allow", "(?m)^hey", ""},
	"script run --conversation":      {"script run say.js", "--conversation=none", "no conversation", ""},
	"trace last --conversation":      {"trace last", "--conversation=none", "no conversation", ""},
	"trace list --conversation":      {"trace list", "--conversation=A", "", "second question"},
	"trace list --limit":             {"trace list", "--limit=1", "", "first question"},
	"user usage --days":              {"user usage", "--days=-1", `days="-1"`, ""},
	"user add --profiles":            {"user add", "--profiles=none", "none", ""},
	"user add --models":              {"user add", "--models=none", "none", ""},
	"user add --tools":               {"user add", "--tools=say", `tools = \["say"\]`, ""},
	"user add --deny-tools":          {"user add", "--deny-tools=say", `deny_tools = \["say"\]`, ""},
	"user add --locale":              {"user add", "--locale=zh", `locale = "zh"`, ""},
	"user add --requests-per-minute": {"user add", "--requests-per-minute=7", "requests_per_minute = 7", ""},
	"user add --concurrent-turns":    {"user add", "--concurrent-turns=7", "concurrent_turns = 7", ""},
	"user add --tokens-per-day":      {"user add", "--tokens-per-day=7", "tokens_per_day = 7", ""},
	"user add --cost-per-day":        {"user add", "--cost-per-day=7", "cost_per_day = 7", ""},
	"user add --currency":            {"user add --cost-per-day=7", "--currency=CNY", `currency = "CNY"`, ""},
	"user add --archive-bytes":       {"user add", "--archive-bytes=7MiB", "archive_bytes = 7340032", ""},
}

// Every flag of every command has an effect while a daemon runs. A new flag needs a row
// in flagUses or a line in elsewhere.
func TestEveryFlagWithADaemon(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	asks := `[permissions]
paths = [{ guest = "/data", reason = "r" }]
hosts = [{ host = "api.example.com", reason = "r" }]
secrets = [{ name = "KEY", header = "X", host = "api.example.com", reason = "r" }]
`
	files := map[string]string{
		"say.js":     "return String(await tools.say({text: 'hey'}))",
		"tools.toml": "[agents.other]\n[[approvals.rule]]\ntool = \"say\"\naction = \"ask\"\n", "data/plugins/say/main.js": "export function say(a) { return a.text }", "data/plugins/asker/main.js": "export function asker() { return '' }",
		"data/plugins/say/plugin.toml": manifestOf("say", ""), "data/plugins/asker/plugin.toml": manifestOf("asker", asks),
		"data/plugins/second/plugin.toml": manifestOf("second", asks), "data/plugins/second/main.js": "export function second() { return '' }",
	}
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := func(name string) (string, bool) { return dir, name == "HOME" }
	serving(t, env, filepath.Join(dir, "data"))
	cli := func(args ...string) string {
		var out locked
		in := ""
		if args[0] == "chat" {
			in = "more\n/trace\n"
		}
		run(t.Context(), append([]string{"--data", "data"}, args...), term.Env{In: strings.NewReader(in), Out: &out, Err: &out, Lookup: env})
		return out.String()
	}
	whole := "before\nhit\n" + strings.Repeat("after ", 400)
	cli("ask", "first question")
	conversation := regexp.MustCompile(`"id": "([^"]+)"`).FindStringSubmatch(cli("conversation", "list", "--json"))
	if conversation == nil {
		t.Fatal("the first question left no conversation")
	}
	cli("call", "say", "text=older "+whole)
	cli("call", "--conversation", conversation[1], "say", "text=newer "+whole)
	cli("ask", "second question")
	users := 0
	do := func(args string) string {
		words := strings.Fields(regexp.MustCompile(`\bA\b`).ReplaceAllString(args, conversation[1]))
		if !strings.HasPrefix(args, "user add") {
			return cli(words...)
		}
		users++
		name := "u" + string(rune('a'+users/26)) + string(rune('a'+users%26))
		out := cli(append(words, name)...)
		file, err := os.ReadFile("tools.toml")
		if err != nil {
			t.Fatal(err)
		}
		_, own, _ := strings.Cut(string(file), "[users."+name+"]")
		return out + own
	}
	for _, cmd := range commands(newRoot(newCLI(term.Env{Lookup: env}))) {
		if _, local := apart[cmd.CommandPath()]; local {
			continue
		}
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			name := strings.TrimPrefix(cmd.CommandPath(), "weir ") + " --" + f.Name
			use, ok := flagUses[name]
			switch {
			case f.Name == "help" || elsewhere[name] != "":
				return
			case !ok:
				t.Errorf("%s: say in this test what it does where a daemon runs", name)
				return
			}
			without, with := do(use.args), do(use.args+" "+use.flag)
			if use.hides != "" {
				use.shows, without, with = use.hides, with, without
			}
			shows := regexp.MustCompile(strings.ReplaceAll(use.shows, "A", conversation[1]))
			if shows.MatchString(without) || !shows.MatchString(with) {
				t.Errorf("%s has no effect\nwithout: %s\nwith: %s", name, clipped(without), clipped(with))
			}
		})
	}
	// A call waits with --wait, and after --always no more like it.
	waits := make(chan string, 1)
	go func() { waits <- cli("ask", "--wait", "--conversation", conversation[1], "Say a word") }()
	testtime.Until(t, "a call waits", func() bool { return strings.Contains(cli("approvals", "list"), "say") })
	if out := cli("approvals", "allow", "last", "--always"); !strings.Contains(<-waits, "← say 1") {
		t.Errorf("the call did not run: %s", out)
	}
	if out := cli("ask", "--conversation", conversation[1], "Say a word"); !strings.Contains(out, "← say 1") {
		t.Errorf("after --always it asks again: %s", out)
	}
	for name := range flagUses {
		if !slices.ContainsFunc(commands(newRoot(newCLI(term.Env{Lookup: env}))), func(cmd *cobra.Command) bool {
			path, flag, _ := strings.Cut(name, " --")
			return cmd.CommandPath() == "weir "+path && cmd.Flags().Lookup(flag) != nil
		}) {
			t.Errorf("%s: there is no such flag", name)
		}
	}
}

// clipped returns the beginning of a text.
func clipped(s string) string { return s[:min(len(s), 400)] }

// manifestOf returns the manifest of a script with one tool of the same name.
func manifestOf(name, permissions string) string {
	return "schema = 1\nname = \"" + name + "\"\nscript = \"main.js\"\n" + permissions +
		"[[tool]]\nname = \"" + name + "\"\ndescription = \"d\"\nexamples = [{ ask = \"Say a word\", args = { text = \"x\" } }]\n[tool.params]\ntype = \"object\"\n[tool.params.properties.text]\ntype = \"string\"\n"
}
