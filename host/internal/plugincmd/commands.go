package plugincmd

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// Commands carries out the commands about plugins and prints what they find.
type Commands struct {
	*term.Printer
	// Program is how this program was called, for commands that are shown to be copied;
	// empty: weir.
	Program string
	// Version is the version of this program, which manifests may ask for.
	Version string
	// Source finds the folders and the configuration.
	Source config.Source
	// Logger receives what plugins print and log.
	Logger hclog.Logger
	// HostConfig returns the configuration of a host, for Inspect.
	HostConfig func() (host.Config, error)
	// Report prints an error. Dev continues after one.
	Report func(context.Context, error)
}

// An API sends requests to the API of a daemon. *client.Client is one.
type API interface {
	term.Getter
	Post(ctx context.Context, path string, body, into any) error
	Do(ctx context.Context, method, path string, body, into any) error
}

// A Daemon is the daemon that decides about plugins.
type Daemon struct {
	API
	// Config is the file of the daemon's configuration. Empty: it has none.
	Config string
	// Warm compiles plugins. Nil: the daemon compiles them automatically.
	Warm func(ctx context.Context, report func(name string, took time.Duration, err error), names ...string)
}

// Decide posts a decision about a plugin and returns the plugin after it.
func Decide(ctx context.Context, d API, name, what string, body map[string]string) (r plugin.Review, err error) {
	all := map[string]any{"by": "cli"}
	if what == "approve" {
		all["stop"] = true // the command has shown what is missing
	}
	for key, v := range body {
		if v != "" {
			all[key] = v
		}
	}
	return r, d.Post(ctx, Path(name, what), all, &r)
}

// Path returns the route of a plugin, or of a decision about it.
func Path(name, what string) string {
	path := "/api/plugins/" + url.PathEscape(name)
	if what != "" {
		path += "/" + what
	}
	return path
}

// SeesWorkspace reports whether a tool may read the folder /workspace. Name is empty if
// any tool counts. If the daemon does not list its plugins, SeesWorkspace returns true.
func SeesWorkspace(ctx context.Context, d term.Getter, name string) bool {
	var list struct{ Plugins []plugin.Info }
	if d.Get(ctx, "/api/plugins", &list) != nil {
		return true
	}
	return slices.ContainsFunc(list.Plugins, func(p plugin.Info) bool {
		return p.State == plugin.Ready && (name == "" || slices.Contains(p.Tools, name)) &&
			slices.ContainsFunc(p.Asks, func(a plugin.Ask) bool {
				return a.Kind == "path" && a.Granted && (strings.HasPrefix(a.What, "/workspace ") || strings.HasPrefix(a.What, "/workspace/"))
			})
	})
}

// textOf is an argument of a format that is a sentence itself.
func textOf(s string) tool.Text { return tool.Text{Format: s} }

// text returns a sentence without arguments in the language of the reader.
func (c *Commands) text(s string) string { return c.Text(textOf(s)) }
