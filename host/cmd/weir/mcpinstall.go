package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/openai"
	"github.com/weirhost/weir/host/internal/clientfile"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/linediff"
	"github.com/weirhost/weir/host/internal/mcpbridge"
	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/sdk/tool"
)

// An install says what `weir mcp install` does.
type install struct {
	model                 string
	images, dryRun, agree bool
}

func mcpInstallCmd(c *cli) *cobra.Command {
	var in install
	cmd := &cobra.Command{
		Use: "install NAME", Short: "Write weir into a client's own configuration", Args: argCount(1, 1, "the name of a client"), ValidArgs: installable(),
		Long: "Write weir into the configuration that a coding agent or another client has for you, never into a file of a\n" +
			"repository: as its server of tools and, with --model, as its model. The change is shown first. All else in the file\n" +
			"stays as it is. A coding agent reaches the daemon over HTTP, with a token that was made for it alone: it opens /v1 and\n" +
			"/mcp and reads archived results, and answers no approval. Running this again changes nothing.",
		Example: "  weir mcp install opencode --model local\n  weir mcp install claude --dry-run\n  weir mcp install cursor --yes",
		RunE:    func(cmd *cobra.Command, args []string) error { return c.installClient(cmd.Context(), args[0], in) },
	}
	f := cmd.Flags()
	f.StringVar(&in.model, "model", "", "make weir the client's model too: the `NAME` of one, as GET /v1/models lists them")
	f.BoolVar(&in.images, "images", false, "tell the client that the model reads pictures")
	c.agreement(cmd, &in)
	return cmd
}

func mcpUninstallCmd(c *cli) *cobra.Command {
	var in install
	cmd := &cobra.Command{
		Use: "uninstall NAME", Short: "Take weir out of a client's configuration, and revoke its token", Args: argCount(1, 1, "the name of a client"), ValidArgs: installable(),
		Long: "Take out what `weir mcp install` wrote, and put back what it replaced. What somebody changed since then stays.\n" +
			"The token in the file is revoked.",
		Example: "  weir mcp uninstall opencode",
		RunE:    func(cmd *cobra.Command, args []string) error { return c.uninstallClient(cmd.Context(), args[0], in) },
	}
	c.agreement(cmd, &in)
	return cmd
}

func (c *cli) agreement(cmd *cobra.Command, in *install) {
	cmd.Flags().BoolVar(&in.dryRun, "dry-run", false, "show the change and write nothing")
	cmd.Flags().BoolVarP(&in.agree, "yes", "y", false, "do not ask")
}

// installable returns the names of all clients.
func installable() (names []string) {
	for _, a := range clientfile.Agents() {
		names = append(names, a.Name)
	}
	for _, m := range mcpbridge.Clients() {
		if m.InstallName() == m.Name {
			names = append(names, m.Name)
		}
	}
	return names
}

// A program is a client that weir can be written for.
type program struct {
	clientfile.Agent
	file  string
	token bool      // it reaches the daemon, with a token; else it starts weir by itself
	after tool.Text // what a person does next; zero: nothing
}

// program returns the client of a name.
func (c *cli) program(ctx context.Context, p config.Paths, name string) (program, error) {
	dirs, err := c.clientDirs()
	if err != nil {
		return program{}, err
	}
	for _, a := range clientfile.Agents() {
		if a.Name == name {
			exists := func(file string) bool { _, err := os.Stat(file); return err == nil }
			return program{Agent: a, token: true, file: a.File(clientfile.Dirs{Home: dirs.Home, Config: dirs.Config, Getenv: c.Getenv, Exists: exists})}, nil
		}
	}
	i := slices.IndexFunc(mcpbridge.Clients(), func(m mcpbridge.Client) bool { return m.Name == name && m.InstallName() == name })
	if i < 0 {
		return program{}, usagef("", "there is no client %q", name).WithHint("use one of: %s", strings.Join(installable(), ", "))
	}
	m := mcpbridge.Clients()[i]
	e, err := c.stdioEntry(ctx, p, dirs, m)
	return program{Agent: clientfile.Plain(name, m.Table, e), file: m.File(dirs), after: m.After}, err
}

func (c *cli) installClient(ctx context.Context, name string, in install) error {
	p, err := c.findPaths()
	if err != nil {
		return err
	}
	a, err := c.program(ctx, p, name)
	if err != nil {
		return err
	}
	if in.model != "" && !a.NoModel.IsZero() {
		return usagef("leave --model out: the client then uses weir's tools", "%v", a.NoModel)
	}
	f, err := clientfile.Read(a.file, a.TOML())
	if err != nil {
		return err
	}
	i := installing{c, p, a, f, in}
	if !a.token {
		return i.run(clientfile.Weir{}, nil)
	}
	return c.withClient(ctx, func(cl *session) error { return i.withToken(ctx, cl) })
}

// An installing writes weir into one file.
type installing struct {
	c     *cli
	paths config.Paths
	agent program
	file  *clientfile.File
	install
}

// withToken writes how the agent reaches the daemon.
func (i *installing) withToken(ctx context.Context, cl *session) error {
	w := clientfile.Weir{Model: i.model, Images: i.images}
	addr, err := i.c.listens(ctx, i.paths)
	if err != nil {
		return err
	}
	w.URL = "http://" + addr
	profile := false
	if i.model != "" {
		if w.Window, profile, err = modelOf(ctx, cl, i.model); err != nil {
			return err
		}
	}
	if w.Token, err = i.goodToken(ctx, cl); err != nil {
		return err
	}
	err = i.run(w, func() (string, func(), error) {
		var made api.MadeClientToken
		err := cl.Post(ctx, "/api/client-tokens", api.NewClientToken{Client: i.agent.Name}, &made)
		return made.Token, func() { _ = revokeToken(ctx, cl, i.agent.Name, made.ID) }, err
	})
	if err != nil || i.dryRun {
		return err
	}
	if profile {
		i.c.errf("%s is a profile: weir runs its own loop there. A model by its own name gets the requests as the client sends them\n", i.model)
	}
	if cl.local {
		i.c.errf("no daemon runs: start `weir serve`; %s reaches it at %s\n", i.agent.Name, w.URL)
	}
	return nil
}

// modelOf returns the window of a model of /v1, in tokens, and whether it is a profile.
func modelOf(ctx context.Context, cl *session, name string) (window int, profile bool, err error) {
	var list openai.ModelList
	if err := cl.Get(ctx, "/v1/models", &list); err != nil {
		return 0, false, err
	}
	var names []string
	for _, m := range list.Data {
		if m.ID == name {
			return m.Window, m.Profile, nil
		}
		names = append(names, m.ID)
	}
	p := usagef("", "no model named %q", name)
	if near := text.Nearest(name, names); len(near) > 0 {
		return 0, false, p.WithHint("did you mean %s? There are: %s", strings.Join(near, ", "), strings.Join(names, ", "))
	}
	return 0, false, p.WithHint("use one of: %s", strings.Join(names, ", "))
}

// goodToken returns the token in the file, if it holds; empty: there is none.
func (i *installing) goodToken(ctx context.Context, cl *session) (string, error) {
	var list api.ClientTokens
	if err := cl.Get(ctx, "/api/client-tokens", &list); err != nil {
		return "", err
	}
	for _, t := range clientfile.Tokens(i.file.Text) {
		if slices.ContainsFunc(list.Tokens, func(one api.ClientToken) bool { return one.ID == tokenID(t) && one.Client == i.agent.Name }) {
			return t, nil
		}
	}
	return "", nil
}

// tokenID returns the id by which the daemon knows a token.
func tokenID(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])[:api.ClientTokenIDLen]
}

// unmade stands for a token that is made after the person has agreed.
var unmade = "weir_client_" + strings.Repeat("x", 43)

// run shows the change, asks, and writes. mint makes a token if the file has none; nil: it
// needs none.
func (i *installing) run(w clientfile.Weir, mint func() (token string, revoke func(), err error)) error {
	fresh := mint != nil && w.Token == ""
	if fresh {
		w.Token = unmade
	}
	after, err := i.file.With(i.agent.Sets(w))
	if err != nil {
		return err
	}
	if after == i.file.Text {
		if !i.c.AsJSON(i.report(false, "")) {
			i.c.errf("%s says so already\n", i.file.Path)
		}
		return nil
	}
	diff := clientfile.Veiled(linediff.Of(i.file.Text, after))
	if ok, err := i.show(tool.Textf("Write this into %s?", i.file.Path), diff); err != nil || !ok {
		return err
	}
	revoke := func() {}
	if fresh {
		if w.Token, revoke, err = mint(); err != nil {
			return err
		}
	}
	if err := i.write(w); err != nil {
		revoke()
		return err
	}
	if i.c.AsJSON(i.report(true, diff)) {
		return nil
	}
	i.c.errf("%s is written\n", i.file.Path)
	if mint != nil {
		i.c.errf("it has a token for %s alone; `weir mcp uninstall %s` takes it out and revokes it\n", i.agent.Name, i.agent.Name)
	}
	if !i.agent.after.IsZero() {
		i.c.Errf("next: %s\n", i.agent.after)
	}
	return nil
}

func (i *installing) report(changed bool, diff string) map[string]any {
	return map[string]any{"client": i.agent.Name, "file": i.file.Path, "changed": changed && !i.dryRun, "diff": diff}
}

// show shows a change and asks; false: nothing is to be written.
func (i *installing) show(question tool.Text, diff string) (bool, error) {
	if i.dryRun && i.c.AsJSON(i.report(false, diff)) {
		return false, nil
	}
	if !i.c.JSON {
		i.c.errf("%s\n", i.file.Path)
		i.c.errf("%s", diff)
	}
	if i.dryRun || i.agree {
		return !i.dryRun, nil
	}
	return i.c.Confirm(question, "add --yes, or --dry-run to see the change alone")
}

// write writes the values, and remembers what they replaced.
func (i *installing) write(w clientfile.Weir) error {
	sets := i.agent.Sets(w)
	after, err := i.file.With(sets)
	if err != nil {
		return err
	}
	all, err := clientfile.ReadRecords(i.paths.Installed())
	if err != nil {
		return err
	}
	if all[i.agent.Name], err = i.file.Record(all[i.agent.Name], sets); err != nil {
		return err
	}
	if err := os.MkdirAll(i.paths.Data, 0o700); err != nil {
		return err
	}
	if err := all.Write(i.paths.Installed()); err != nil {
		return err
	}
	return i.file.Write(after, w.Token != "")
}

func (c *cli) uninstallClient(ctx context.Context, name string, in install) error {
	p, err := c.findPaths()
	if err != nil {
		return err
	}
	a, err := c.program(ctx, p, name)
	if err != nil {
		return err
	}
	all, err := clientfile.ReadRecords(p.Installed())
	if err != nil {
		return err
	}
	r := all[name]
	if r.File != "" {
		a.file = r.File
	}
	f, err := clientfile.Read(a.file, a.TOML())
	if err != nil {
		return err
	}
	i := installing{c, p, a, f, in}
	done, err := i.takeOut(r)
	if err != nil || !done {
		return err
	}
	delete(all, name)
	if r.File != "" {
		if err := all.Write(p.Installed()); err != nil {
			return err
		}
	}
	if tokens := clientfile.Tokens(f.Text); a.token && len(tokens) > 0 {
		return c.withClient(ctx, func(cl *session) error { return c.revokeTokens(ctx, cl, name, tokens) })
	}
	return nil
}

// takeOut takes weir out of the file; false: nothing was written.
func (i *installing) takeOut(r clientfile.Record) (bool, error) {
	after, err := i.file.Without(i.agent.Agent, r)
	if err != nil {
		return false, err
	}
	if after == i.file.Text {
		if !i.c.AsJSON(i.report(false, "")) {
			i.c.errf("%s has nothing of weir\n", i.file.Path)
		}
		return false, nil
	}
	diff := clientfile.Veiled(linediff.Of(i.file.Text, after))
	if ok, err := i.show(tool.Textf("Write this into %s?", i.file.Path), diff); err != nil || !ok {
		return false, err
	}
	gone := r.Made && clientfile.Empty(after)
	if gone {
		err = i.file.Remove()
	} else {
		err = i.file.Write(after, len(clientfile.Tokens(after)) > 0)
	}
	if err != nil {
		return false, err
	}
	switch {
	case i.c.AsJSON(i.report(true, diff)):
	case gone:
		i.c.errf("%s had nothing else and is removed\n", i.file.Path)
	default:
		i.c.errf("%s is written\n", i.file.Path)
	}
	if len(clientfile.Tokens(after)) > 0 {
		i.c.errf("it still has a token of weir, in a value that weir did not write: take it out by hand\n")
	}
	return true, nil
}

// revokeTokens revokes those of some tokens that the daemon knows.
func (c *cli) revokeTokens(ctx context.Context, cl *session, client string, tokens []string) error {
	revoked := 0
	slices.Sort(tokens)
	for _, t := range slices.Compact(tokens) {
		err := revokeToken(ctx, cl, client, tokenID(t))
		if p, ok := errors.AsType[*api.Problem](err); ok && p.Status == http.StatusNotFound {
			continue
		}
		if err != nil {
			return err
		}
		revoked++
	}
	if revoked > 0 {
		c.errf("the token of %s is revoked\n", client)
	}
	return nil
}

func revokeToken(ctx context.Context, cl *session, client, id string) error {
	return cl.Do(ctx, http.MethodDelete, "/api/client-tokens/"+url.PathEscape(client)+"?id="+url.QueryEscape(id), nil, nil)
}
