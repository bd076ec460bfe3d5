package config

import (
	"path/filepath"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/client"
	"github.com/weirhost/weir/host/internal/msg"
)

// WorkspaceIn returns the absolute path of the folder that tools see as /workspace:
// that of the flag, else of WEIR_WORKSPACE in env, else the current one.
func (o Source) WorkspaceIn(env Lookup) string {
	if o.Workspace != "" {
		return absolute(o.Workspace)
	}
	v, _ := env("WEIR_WORKSPACE")
	return absolute(v)
}

// Running describes a daemon with this source: its workspace and what a command
// compares its own flags with.
func (o Source) Running(p Paths, env Lookup) client.Address {
	a := client.Address{Config: p.Config, Workspace: o.WorkspaceIn(env)}
	if o.Plugins != "" {
		a.Plugins = absolute(o.Plugins)
	}
	return a
}

// Refused returns an error if a running daemon works with another configuration,
// plugin folder or workspace than a flag says: the flag would have no effect.
func (o Source) Refused(a client.Address) error {
	for _, f := range []struct{ flag, wanted, has string }{
		{"--config", o.Config, a.Config}, {"--plugins", o.Plugins, a.Plugins}, {"--workspace", o.Workspace, a.Workspace},
	} {
		if f.wanted == "" || sameFile(f.wanted, f.has) {
			continue
		}
		p := msg.Usagef("", "%s %s would have no effect: a daemon runs with the data folder, and was started with another one: %s", f.flag, f.wanted, f.has)
		if f.has == "" {
			p = msg.Usagef("", "%s %s would have no effect: a daemon runs with the data folder, and was started without %s", f.flag, f.wanted, f.flag)
		}
		return p.WithHint("leave %s out, or give this command a data folder of its own with --data DIR, or first %v", f.flag, a.Stopping())
	}
	return nil
}

// Misplaced returns an error if a command of this source is for a folder that is not
// the workspace of a running daemon and not inside it: tools would read other files than
// the caller means. The .env beside the configuration may name the folder.
func (o Source) Misplaced(a client.Address) error {
	here := o.would().Workspace
	if a.Workspace == "" || contains(a.Workspace, here) {
		return nil
	}
	return msg.Usagef("", "the tools of the running daemon see the folder %s, not %s", a.Workspace, here).
		WithHint("run the command in %s, add --workspace %s if you mean that folder, or first %v", a.Workspace, a.Workspace, a.Stopping())
}

// HandOver describes the daemon that this source would start, to one that has its data folder.
func (o Source) HandOver() api.HandOver {
	a := o.would()
	return api.HandOver{Config: a.Config, Plugins: a.Plugins, Workspace: a.Workspace}
}

// Accepts returns an error if a command of this source could not work with a daemon that
// wants the data folder.
func (o Source) Accepts(to api.HandOver) error {
	a := client.Address{Command: "serve", Config: to.Config, Plugins: to.Plugins, Workspace: to.Workspace}
	if err := o.Refused(a); err != nil {
		return err
	}
	if here := o.would().Workspace; o.Misplaced(a) != nil {
		return msg.Errorf("its tools see the folder %s, and those of the new daemon would see %s", here, a.Workspace)
	}
	return nil
}

// would describes the daemon that this source would start.
func (o Source) would() client.Address {
	p, err := o.Paths()
	if err != nil {
		return o.Running(p, o.Lookup)
	}
	l, err := o.Load(p)
	if err != nil {
		return o.Running(p, o.Lookup)
	}
	return o.Running(p, l.Secrets)
}

// absolute is filepath.Abs with the links of the path followed, where that works.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return path
}

// sameFile reports whether two paths name the same file.
func sameFile(a, b string) bool { return b != "" && absolute(a) == absolute(b) }
