package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host/internal/atomicfile"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/dotenv"
	"github.com/weirhost/weir/host/internal/linediff"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/serverjson"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/host/internal/tomledit"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// An addition says what `weir mcp add` does.
type addition struct {
	from, url               string
	env, headers            []string
	trustHints, force       bool
	dryRun, agree, unstated bool // unstated: --trust-hints was not given
}

func mcpAddCmd(c *cli) *cobra.Command {
	var in addition
	cmd := &cobra.Command{
		Use: "add [NAME] [JSON | - | -- COMMAND ...]", Short: "Take another MCP server's tools in, from the JSON of its README",
		Long: "Write another MCP server into tools.toml and start it. JSON is what the README of a server shows, as it is:\n" +
			"{\"mcpServers\": {\"NAME\": {\"command\": …}}}, one entry of it, or the form of VS Code or Zed; - reads it from standard\n" +
			"input, --from from a client's own file. The change is shown first. Keys go to the .env beside the file.\n" +
			"The program runs outside the sandbox and may do whatever you may.",
		Example: "  weir mcp add '{\"mcpServers\": {\"files\": {\"command\": \"npx\", \"args\": [\"-y\", \"@modelcontextprotocol/server-filesystem\", \".\"]}}}'\n" +
			"  weir mcp add files -- npx -y @modelcontextprotocol/server-filesystem .\n  weir mcp add docs --url https://example.com/mcp\n  weir mcp add github --from ~/.claude.json",
		RunE: func(cmd *cobra.Command, args []string) error {
			in.unstated = !cmd.Flags().Changed("trust-hints")
			_, p, err := c.find(cmd.Context()) // a flag that a daemon would ignore is an error
			if err != nil {
				return err
			}
			list, err := c.serversToAdd(args, cmd.ArgsLenAtDash(), in)
			if err != nil {
				return err
			}
			return c.addServers(cmd.Context(), p, list, in)
		},
	}
	f := cmd.Flags()
	f.StringVar(&in.from, "from", "", "read the JSON from this `FILE`, such as claude_desktop_config.json")
	f.StringVar(&in.url, "url", "", "the `ADDRESS` of a server that speaks streamable HTTP")
	f.StringArrayVar(&in.env, "env", nil, "a variable for the program, `NAME=VALUE`; may be repeated")
	f.StringArrayVar(&in.headers, "header", nil, "a header for the address, `NAME: VALUE`; may be repeated")
	f.BoolVar(&in.trustHints, "trust-hints", false, "let its tools that say they only read run without asking")
	f.BoolVar(&in.force, "force", false, "replace a server of that name")
	f.BoolVar(&in.dryRun, "dry-run", false, "show the change and write nothing")
	f.BoolVarP(&in.agree, "yes", "y", false, "do not ask")
	return cmd
}

// serversToAdd returns the servers that the command line names. dash is how many of the
// arguments are before --; negative: there is none.
func (c *cli) serversToAdd(args []string, dash int, in addition) ([]serverjson.Server, error) {
	var name, text string
	command := []string(nil)
	if dash >= 0 {
		args, command = args[:dash], args[dash:]
	}
	for _, a := range args {
		switch t := strings.TrimSpace(a); {
		case text == "" && (t == "-" || strings.HasPrefix(t, "{") || strings.HasPrefix(t, `"`)):
			text = t
		case name == "" && text == "" && serverjson.Name(a) != "":
			name = a
		default:
			return nil, usagef("write -- before a command: weir mcp add NAME -- npx -y PACKAGE", "%q is neither a name nor JSON", a)
		}
	}
	ways := 0
	for _, given := range []bool{text != "", len(command) > 0, in.url != "", in.from != ""} {
		if given {
			ways++
		}
	}
	if ways == 0 && !term.IsTerminal(c.In) {
		text, ways = "-", 1
	}
	switch {
	case ways != 1:
		return nil, usagef("give one of: JSON, - for standard input, --from FILE, --url ADDRESS, -- COMMAND", "`weir mcp add` takes one server, or JSON that names some")
	case len(command) > 0 || in.url != "":
		return written(name, command, in)
	}
	return c.serversOf(name, text, in.from)
}

// written returns a server that the command line gives without JSON.
func written(name string, command []string, in addition) ([]serverjson.Server, error) {
	if name == "" {
		return nil, usagef("weir mcp add NAME …", "the server has no name")
	}
	s := serverjson.Server{Name: name, URL: in.url}
	if len(command) > 0 {
		s.Command, s.Args = command[0], command[1:]
		if strings.HasPrefix(s.Command, ".") { // as it is from here, not from the folder of tools.toml
			if abs, err := filepath.Abs(s.Command); err == nil {
				s.Command = abs
			}
		}
	}
	var err error
	if s.Env, err = pairs(in.env, "=", "--env %s: write NAME=VALUE"); err == nil {
		s.Headers, err = pairs(in.headers, ":", "--header %s: write NAME: VALUE")
	}
	if len(s.Env) > 0 && s.URL != "" || len(s.Headers) > 0 && s.Command != "" {
		return nil, usagef("", "--env is for a command, and --header for an address")
	}
	return []serverjson.Server{s}, err
}

func pairs(list []string, sep, problem string) (map[string]string, error) {
	if len(list) == 0 {
		return nil, nil
	}
	out := map[string]string{}
	for _, one := range list {
		name, value, ok := strings.Cut(one, sep)
		if !ok || strings.TrimSpace(name) == "" {
			return nil, usagef("", problem, one)
		}
		out[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return out, nil
}

// serversOf returns the servers of a JSON text: that of the name, if one is given.
func (c *cli) serversOf(name, text, file string) (list []serverjson.Server, err error) {
	switch {
	case file != "":
		raw, err := os.ReadFile(file)
		if err != nil {
			return nil, usagef("give a file that you may read", "%s cannot be read: %s", file, msg.Reason(err))
		}
		text = string(raw)
	case text == "-":
		if text, err = readText(c.In, "standard input"); err != nil {
			return nil, err
		}
	}
	if list, err = serverjson.Read(text); err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(s serverjson.Server) bool { return isWeir(s) })
	var names []string
	for _, s := range list {
		names = append(names, s.Name)
	}
	i := slices.IndexFunc(list, func(s serverjson.Server) bool {
		return s.Name == name || name != "" && serverjson.Name(s.Name) == serverjson.Name(name)
	})
	switch {
	case len(list) == 0:
		return nil, usagef("", "this JSON names no MCP server besides weir")
	case name == "" && list[0].Name == "":
		return nil, usagef("weir mcp add NAME …", "the server has no name")
	case name == "":
		return list, nil
	case i >= 0:
		return list[i : i+1], nil
	case len(list) > 1:
		return nil, usagef("", "no server named %q", name).WithHint("use one of: %s", strings.Join(names, ", "))
	}
	list[0].Name = name
	return list, nil
}

// isWeir reports whether an entry is weir itself.
func isWeir(s serverjson.Server) bool {
	return strings.TrimSuffix(filepath.Base(s.Command), ".exe") == "weir" && slices.Contains(s.Args, "mcp")
}

// An adding writes servers into one tools.toml.
type adding struct {
	c *cli
	addition
	file, text string // of tools.toml, before
	before     config.Settings
	vars       map[string]string   // of .env
	names      []string            // that are written
	servers    []serverjson.Server // these
	env        []serverjson.Secret
	unset      []string // variables that nothing sets
}

func (c *cli) addServers(ctx context.Context, p config.Paths, list []serverjson.Server, in addition) error {
	a := adding{c: c, addition: in}
	if err := a.read(p); err != nil {
		return err
	}
	for _, s := range list {
		if err := a.take(s); err != nil {
			return err
		}
	}
	if len(a.names) == 0 {
		if c.AsJSON(a.report(false, "", nil)) {
			return nil
		}
		c.errf("%s says so already\n", a.file)
		return nil
	}
	after, err := a.after()
	if err != nil {
		return err
	}
	diff := linediff.Of(a.text, after)
	if ok, err := a.agreed(diff); err != nil || !ok {
		return err
	}
	if ctx.Err() != nil { // at the second question
		c.errf("nothing was changed\n")
		return ctx.Err()
	}
	if after, err = a.after(); err != nil { // perhaps with trust_hints
		return err
	}
	if err := a.write(after); err != nil {
		return err
	}
	return a.start(ctx, diff)
}

// read reads what there is.
func (a *adding) read(p config.Paths) (err error) {
	if a.file, a.text, err = a.c.source().ReadForEdit(p.Config); err != nil {
		return err
	}
	var faults []config.Fault
	if a.before, faults = config.Parse(a.file, a.text); len(faults) > 0 {
		return usagef("correct it first: `weir config validate`", "%v", faults[0].Text())
	}
	var skipped tool.Text
	if a.vars, skipped, err = dotenv.Read(a.file); err == nil && !skipped.IsZero() {
		return usagef("", "%v", skipped)
	}
	return err
}

// take adds one server, and says what of it becomes different.
func (a *adding) take(s serverjson.Server) error {
	name := serverjson.Name(s.Name)
	if name == "" {
		return usagef("give one: weir mcp add NAME …", "%q is no name for a server", s.Name)
	}
	if name != s.Name {
		a.c.errf("%s becomes %s: names in tools.toml are in lower case, of letters, digits, _ and -\n", s.Name, name)
	}
	secrets := s.TakeSecrets(name, func(v, value string) bool {
		old, ok := a.vars[v]
		return ok && old != value && value != "" || slices.ContainsFunc(a.env, func(o serverjson.Secret) bool { return o.Variable == v && o.Value != value })
	})
	old, exists := a.before.Servers[name]
	if exists && a.same(s, old) {
		return nil
	}
	if exists && !a.force && (a.agree || a.c.JSON || !term.IsTerminal(a.c.In)) && !a.dryRun {
		return usagef("--force replaces it, --dry-run shows the difference; or give another name: weir mcp add NAME …", "%s has a server %s already, and it is another one", a.file, name)
	}
	if exists {
		s.Allow, s.Deny, a.trustHints = or(s.Allow, old.Allow), or(s.Deny, old.Deny), a.trustHints || old.Trust && a.unstated
	}
	if len(s.Left) > 0 {
		a.c.errf("%s: left out, because weir has no such key: %s\n", name, strings.Join(s.Left, ", "))
	}
	a.names = append(a.names, name)
	a.servers = append(a.servers, s)
	a.note(secrets)
	return nil
}

func or(list, old []string) []string {
	if len(list) > 0 {
		return list
	}
	return old
}

// note notes variables: those to write into .env, and those that a person must set.
func (a *adding) note(secrets []serverjson.Secret) {
	for _, one := range secrets {
		_, inFile := a.vars[one.Variable]
		switch {
		case one.Value != "" && !inFile:
			if !slices.Contains(a.env, one) {
				a.env = append(a.env, one)
			}
		case one.Value == "" && !inFile && a.c.Getenv(one.Variable) == "" && !slices.Contains(a.unset, one.Variable):
			a.unset = append(a.unset, one.Variable)
		}
	}
}

// same reports whether the file has a server as it would be written.
func (a *adding) same(s serverjson.Server, old config.ServerEntry) bool {
	got, faults := config.Parse("", s.TOML("same", false))
	one := got.Servers["same"]
	one.Allow, one.Deny = or(one.Allow, old.Allow), or(one.Deny, old.Deny)
	one.Trust, one.Start, one.Type, one.Disabled = old.Trust, old.Start, old.Type, old.Disabled
	return len(faults) == 0 && reflect.DeepEqual(one, old) && (a.unstated || a.trustHints == old.Trust)
}

// after returns the text of tools.toml with the servers.
func (a *adding) after() (string, error) {
	text := a.text
	for i, name := range a.names {
		var err error
		if text, err = tomledit.RemoveTable(text, "mcpServers", name); err != nil {
			return "", usagef("change it by hand", "%s: %s", a.file, err)
		}
		table := a.servers[i].TOML(name, a.trustHints)
		if text = strings.TrimRight(text, "\r\n"); text != "" {
			text += "\n\n"
		}
		text += table
	}
	got, faults := config.Parse(a.file, text)
	for _, name := range a.names {
		delete(got.Servers, name)
		delete(a.before.Servers, name)
	}
	switch {
	case len(faults) > 0:
		return "", usagef("check what you gave", "%v", config.Fault{Msg: faults[0].Msg, Hint: faults[0].Hint}.Text())
	case len(got.Servers)+len(a.before.Servers) > 0 && !reflect.DeepEqual(got.Servers, a.before.Servers):
		return "", usagef("change it by hand", "%s is written in a way that this command cannot edit", a.file)
	}
	return text, nil
}

// agreed shows the change and asks; false: nothing is to be written.
func (a *adding) agreed(diff string) (bool, error) {
	c := a.c
	if a.dryRun && c.AsJSON(a.report(false, diff, nil)) {
		return false, nil
	}
	if !c.JSON {
		c.errf("%s\n", a.file)
		c.errf("%s", diff)
		for _, one := range a.env {
			c.errf("%s goes into %s, which only you may read\n", one.Variable, dotenv.File(a.file))
		}
	}
	if a.dryRun || a.agree {
		return !a.dryRun, nil
	}
	c.errf("Its program runs outside the sandbox and may do whatever you may; what it says of its tools cannot be checked.\n")
	if ok, err := c.Confirm(tool.Textf("Write this, and let it be started?"), "add --yes, or --dry-run to see the change alone"); err != nil || !ok {
		return false, err
	}
	if a.unstated && !a.trustHints {
		a.trustHints = c.Yes(tool.Textf("May its tools that say they only read run without asking you?"))
	}
	return true, nil
}

// write writes .env, then tools.toml, and notes that a person trusts the servers.
func (a *adding) write(after string) error {
	if len(a.env) > 0 {
		file := dotenv.File(a.file)
		raw, err := os.ReadFile(file)
		if err != nil && !os.IsNotExist(err) {
			return usagef("give a file that you may read", "%s cannot be read: %s", file, msg.Reason(err))
		}
		text := strings.TrimRight(string(raw), "\r\n")
		if text != "" {
			text += "\n"
		}
		for _, one := range a.env {
			text += fmt.Sprintf("%s=\"%s\"\n", one.Variable, one.Value)
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		if err := atomicfile.WriteSynced(file, ".env-*", 0o600, []byte(text)); err != nil {
			return usagef("check its permissions", "%s cannot be written", file)
		}
	}
	if err := config.WriteFile(a.file, after); err != nil {
		return msg.Errorf("the configuration could not be written: %w", err)
	}
	p, l, err := a.c.settings()
	if err != nil {
		return err
	}
	return p.Trust(l.Settings, a.names...)
}

// An added is a server that was added, for --json.
type added struct {
	Name      string       `json:"name"`
	State     plugin.State `json:"state,omitempty"`
	Tools     []string     `json:"tools,omitempty"`
	Why       tool.Text    `json:"why,omitzero"`
	Fix       tool.Text    `json:"fix,omitzero"`
	Variables []string     `json:"unset_variables,omitempty"`
}

func (a *adding) report(changed bool, diff string, list []added) map[string]any {
	if list == nil {
		list = []added{}
	}
	return map[string]any{"file": a.file, "changed": changed, "diff": diff, "servers": list}
}

// start lets the daemon start the servers, or starts them for this command, and says what
// came of it.
func (a *adding) start(ctx context.Context, diff string) error {
	c := a.c
	if !c.JSON {
		c.errf("%s is written\n", a.file)
	}
	if len(a.unset) > 0 && !c.JSON {
		c.errf("set %s, in the environment or in %s (chmod 600), then: weir reload\n", strings.Join(a.unset, ", "), dotenv.File(a.file))
	}
	runs, err := c.reloadAfter(ctx)
	if err != nil {
		return err
	}
	var list []added
	err = c.withClient(ctx, func(cl *session) error {
		if !runs && !cl.local {
			return nil // a daemon with another configuration
		}
		list, err = a.await(ctx, cl)
		return err
	})
	if err != nil || c.AsJSON(a.report(true, diff, list)) {
		return err
	}
	return a.tell(list, runs)
}

// addTime is how long a server may take before this command no longer waits for it. The
// first start of one may download it.
const addTime = 60 * time.Second

// await returns what became of the servers.
func (a *adding) await(ctx context.Context, cl *session) ([]added, error) {
	if !a.c.JSON {
		a.c.errf("starting %s; the first start may download it\n", strings.Join(a.names, ", "))
	}
	for end := time.Now().Add(addTime); ; {
		var out struct{ Plugins []plugin.Info }
		if err := cl.Get(ctx, "/api/plugins", &out); err != nil {
			return nil, err
		}
		var list []added
		busy := false
		for _, p := range out.Plugins {
			if p.Kind == plugin.KindServer && slices.Contains(a.names, p.Name) {
				busy = busy || p.State == plugin.Pending && p.Fix.IsZero()
				list = append(list, added{p.Name, p.State, p.Tools, p.Why, p.Fix, a.unset})
			}
		}
		if !busy || time.Now().After(end) {
			return list, nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// tell prints what became of the servers.
func (a *adding) tell(list []added, runs bool) error {
	c := a.c
	ready := 0
	for _, one := range list {
		if one.State == plugin.Ready {
			ready++
			c.outf("%s: %d tools: %s\n", one.Name, len(one.Tools), term.OneLine(strings.Join(one.Tools, " "), 200))
			continue
		}
		c.outf("%s is not ready: %s\n", one.Name, term.Plain(c.Text(one.Why)))
		if !one.Fix.IsZero() {
			fmt.Fprintf(c.Out, "  → %s\n", term.Plain(c.Text(one.Fix)))
		}
		c.outf("  → to take it out again: weir mcp remove %s\n", one.Name)
	}
	switch {
	case ready < len(list):
		return term.ExitError(term.ExitFailed)
	case ready > 0 && !a.trustHints:
		c.outf("weir asks you before each of these calls; to change that, write into tools.toml: [[approvals.rule]] with tool = %q and action = \"allow\", or trust_hints = true for those that say they only read\n", prefixOf(list)+"__*")
	}
	if ready > 0 && !runs {
		c.outf("next: weir serve, or weir chat\n")
	}
	return nil
}

// prefixOf returns what the names of the tools of the first server begin with.
func prefixOf(list []added) string {
	for _, one := range list {
		if len(one.Tools) > 0 {
			prefix, _, _ := strings.Cut(one.Tools[0], "__")
			return prefix
		}
	}
	return "SERVER"
}

func mcpRemoveCmd(c *cli) *cobra.Command {
	var in addition
	cmd := &cobra.Command{
		Use: "remove NAME", Short: "Take another MCP server out of tools.toml", Args: argCount(1, 1, "the name of a server"),
		Long: "Take another MCP server out of tools.toml. A running daemon ends it after its last call. Variables in .env stay.",
		RunE: func(cmd *cobra.Command, args []string) error { return c.removeServer(cmd.Context(), args[0], in) },
	}
	cmd.Flags().BoolVar(&in.dryRun, "dry-run", false, "show the change and write nothing")
	cmd.Flags().BoolVarP(&in.agree, "yes", "y", false, "do not ask")
	return cmd
}

func (c *cli) removeServer(ctx context.Context, name string, in addition) error {
	_, p, err := c.find(ctx)
	if err != nil {
		return err
	}
	a := adding{c: c, addition: in}
	if err := a.read(p); err != nil {
		return err
	}
	if _, ok := a.before.Servers[name]; !ok {
		e := usagef("", "%s has no server %s", a.file, name)
		if names := slices.Sorted(maps.Keys(a.before.Servers)); len(names) > 0 {
			return e.WithHint("use one of: %s", strings.Join(names, ", "))
		}
		return e
	}
	after, err := tomledit.RemoveTable(a.text, "mcpServers", name)
	if err != nil {
		return usagef("change it by hand", "%s: %s", a.file, err)
	}
	diff := linediff.Of(a.text, after)
	if in.dryRun && c.AsJSON(a.report(false, diff, nil)) {
		return nil
	}
	if !c.JSON {
		c.errf("%s\n", a.file)
		c.errf("%s", diff)
	}
	if in.dryRun {
		return nil
	}
	if !in.agree {
		if ok, err := c.Confirm(tool.Textf("Write this into %s?", a.file), "add --yes, or --dry-run to see the change alone"); err != nil || !ok {
			return err
		}
	}
	if err := config.WriteFile(a.file, after); err != nil {
		return msg.Errorf("the configuration could not be written: %w", err)
	}
	if _, err := c.reloadAfter(ctx); err != nil {
		return err
	}
	if !c.AsJSON(a.report(true, diff, nil)) {
		c.errf("%s is written\n", a.file)
	}
	return nil
}
