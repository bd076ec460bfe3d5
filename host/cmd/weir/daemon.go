package main

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/client"
	"github.com/weirhost/weir/host/internal/app"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/plugincmd"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// A session is a client of the daemon that a command works with: the running one,
// or one that was opened inside this process for the command alone.
type session struct {
	*client.Client
	// at describes the daemon.
	at client.Address
	// local reports whether the daemon runs inside this process.
	local bool
	// warm is Host.Warm of a local daemon. A running daemon compiles automatically; it
	// is then nil.
	warm func(ctx context.Context, report func(name string, took time.Duration, err error), names ...string)
}

// plugins returns what the commands about plugins need of the daemon.
func (s *session) plugins() plugincmd.Daemon {
	return plugincmd.Daemon{API: s.Client, Config: s.at.Config, Warm: s.warm}
}

// running returns a client of the running daemon of the data folder, or nil. The
// daemon answers in the language of the reader.
func (c *cli) running(ctx context.Context, p config.Paths) *session {
	cl, a := client.Find(ctx, client.Files{Address: p.Address, Lock: p.Lock, Token: p.Token})
	if cl == nil {
		return nil
	}
	cl.SetLanguage(string(c.language()))
	return &session{Client: cl, at: a}
}

// find returns a client of the running daemon, or nil, and the paths of its data
// folder. Flags that the daemon would ignore are an error.
func (c *cli) find(ctx context.Context) (*session, config.Paths, error) {
	p, err := c.source().Paths()
	if err != nil {
		return nil, p, err
	}
	s := c.running(ctx, p)
	if s == nil {
		return nil, p, nil
	}
	if slices.Contains([]string{"plugin", "tools"}, c.about) && p.Config != "" && p.Config != s.at.Config {
		c.tellConfig(s, p)
	}
	return s, p, c.refused(s)
}

// tellConfig says which configuration the running daemon has, where a reader would expect
// that of the current folder.
func (c *cli) tellConfig(s *session, p config.Paths) {
	c.errf("weir: a daemon answers (weir %s, process %d), and %s is not its configuration: %s\n", s.at.Command, s.at.PID, p.Config, textOf(cmp.Or(s.at.Config, "it has none")))
}

// follow lets commands that read or change tools.toml work with the file of the running
// daemon unless --config names one, and says so where it is another one than here.
func (c *cli) follow(ctx context.Context) error {
	if !slices.Contains([]string{"model", "user", "config", "server"}, c.about) {
		return nil
	}
	p, err := c.findPaths()
	if err != nil {
		return nil // the command says so
	}
	s := c.running(ctx, p)
	switch {
	case s == nil || p.Config == s.at.Config:
	case c.config != "" || c.about == "config" || s.at.Config == "":
		if p.Config != "" {
			c.tellConfig(s, p)
		}
	default:
		c.config = s.at.Config
		c.errf("weir: a daemon answers (weir %s, process %d); this is about its configuration, %s\n", s.at.Command, s.at.PID, c.config)
	}
	return nil
}

// refused returns an error if a flag has no effect on the running daemon.
func (c *cli) refused(s *session) error {
	if c.verbose {
		c.errf("weir: a daemon answers, process %d: what happens inside is in its log\n", s.at.PID)
	}
	return c.source().Refused(s.at)
}

// connect returns a client of the running daemon, or of one that is opened for this
// command. The caller must close it. While another command starts or ends with the data
// folder, connect waits for it.
func (c *cli) connect(ctx context.Context) (*session, error) {
	var a *app.App
	for end := time.Now().Add(joinTime); a == nil; {
		s, _, err := c.find(ctx)
		if s != nil || err != nil {
			return s, err
		}
		if a, err = c.open(ctx, c.options()); err != nil && !c.busy(ctx, err, end) {
			return nil, err
		}
	}
	if err := c.waitServers(ctx, a.Host); err != nil {
		a.Close()
		return nil, err
	}
	s := &session{Client: client.InProcess(a.Daemon.Handler(), a.Token, a.Close), at: a.Address("", ""), local: true, warm: a.Host.Warm}
	s.SetLanguage(string(c.language()))
	return s, nil
}

// waitServers waits for the first answers of MCP servers. It says which ones it waits for
// if that takes long: a first start may download a server, and a mute one takes a minute.
func (c *cli) waitServers(ctx context.Context, h *host.Host) error {
	done := make(chan error, 1)
	go func() { done <- h.WaitServers(ctx) }()
	select {
	case err := <-done:
		return err
	case <-time.After(serversTime):
	}
	var names []string
	for _, p := range h.Plugins() {
		if p.Kind == plugin.KindServer && p.State == plugin.Pending {
			names = append(names, p.Name)
		}
	}
	if len(names) > 0 {
		c.errf("weir: waiting for the first answer of these MCP servers, as long as their start_timeout: %s\n", strings.Join(names, ", "))
	}
	return <-done
}

// busy reports whether to look again for a daemon, after a pause: err says that another
// command holds the data folder, and end has not passed. It says once what is waited for.
func (c *cli) busy(ctx context.Context, err error, end time.Time) bool {
	if _, ok := errors.AsType[*app.BusyError](err); !ok || time.Now().After(end) {
		return false
	}
	if !c.waited {
		c.waited = true
		c.errf("weir: waiting for another weir command that uses the data folder, perhaps a daemon that starts\n")
	}
	select {
	case <-time.After(app.LockTimeout / 5):
		return true
	case <-ctx.Done():
		return false
	}
}

// checkPlace returns an error if tools of a running daemon would read another folder than
// the current one. name is the tool that is called; empty: any may be. Unless quiet, it
// says which folder the tools see, and which configuration holds, where a reader would
// expect those of the current folder.
func (c *cli) checkPlace(ctx context.Context, s *session, name string, quiet bool) error {
	if s.local || s.at.Workspace == "" {
		return nil
	}
	if s.at.Workspace != c.source().WorkspaceIn(c.Lookup) && plugincmd.SeesWorkspace(ctx, s, name) {
		if err := c.source().Misplaced(s.at); err != nil {
			return err
		}
		if !quiet {
			c.errf("weir: a daemon answers (weir %s, process %d); its tools see the folder %s\n", s.at.Command, s.at.PID, s.at.Workspace)
		}
	}
	if p, err := c.findPaths(); err == nil && !quiet && p.Config != "" && p.Config != s.at.Config {
		c.tellConfig(s, p)
	}
	return nil
}

// A runner is what a cobra.Command runs.
type runner = func(cmd *cobra.Command, args []string) error

// request returns the runner of a command that works with a daemon: the running one,
// or one that is opened for the command.
func (c *cli) request(f func(ctx context.Context, s *session, args []string) error) runner {
	return func(cmd *cobra.Command, args []string) error {
		s, err := c.connect(cmd.Context())
		if err != nil {
			return err
		}
		defer s.Close()
		return f(cmd.Context(), s, args)
	}
}

// withClient runs f with a client of the running daemon, or of one that is opened
// for the command.
func (c *cli) withClient(ctx context.Context, f func(*session) error) error {
	s, err := c.connect(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	return f(s)
}

// completeKey says in the hint of a problem which process lacks the variable of a
// model's key, and where to put it.
func (c *cli) completeKey(s *session, p *api.Problem) {
	name, file := p.KeyEnv, config.EnvFile(s.at.Config)
	here := name != "" && c.Getenv(name) != ""
	switch {
	case name == "":
	case s.local:
		p.Hint = tool.Textf("this shell does not have %s: %v", name, p.Hint)
	case file == "": // the daemon reads no file
	case here:
		p.Hint = tool.Textf("this shell has %s, but the daemon does not: write it into %s (chmod 600) and run `weir reload`", name, file)
	default:
		p.Hint = tool.Textf("neither this shell nor the daemon has %s: write it into %s (chmod 600) and run `weir reload`", name, file)
	}
}

// within is withClient for a query that may be limited to one conversation. given is
// empty, or names the conversation as Client.Conversation takes it.
func (c *cli) within(ctx context.Context, given string, q url.Values, f func(*session) error) error {
	return c.withClient(ctx, func(s *session) error {
		id, err := s.Conversation(ctx, given)
		if err != nil {
			return err
		}
		if id != "" {
			q.Set("conversation_id", id)
		}
		return f(s)
	})
}

// ofConversation is withClient with the path of a conversation in the API. given is its
// id as Client.Conversation takes it.
func (c *cli) ofConversation(ctx context.Context, given string, f func(s *session, path string) error) error {
	return c.withClient(ctx, func(s *session) error {
		id, err := s.Conversation(ctx, given)
		if err != nil {
			return err
		}
		return f(s, "/api/conversations/"+url.PathEscape(id))
	})
}

// each returns what f makes of each text, or its first error.
func each(texts []string, f func(string) (string, error)) ([]string, error) {
	out := make([]string, len(texts))
	for i, t := range texts {
		var err error
		if out[i], err = f(t); err != nil {
			return nil, err
		}
	}
	return out, nil
}
