package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weirhost/weir/host/internal/dotenv"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/within"
	"github.com/weirhost/weir/sdk/tool"
)

// A Loaded is a configuration with every reference expanded.
type Loaded struct {
	Settings Settings
	Secrets  Lookup    // finds plugins' secrets: the environment, then .env
	Faults   []Fault   // all faults of the file
	Skipped  tool.Text // why .env was not read; zero: it was, or there is none
}

// Err returns the faults as one error. Nil: there are none.
func (l Loaded) Err() error {
	if len(l.Faults) == 0 {
		return nil
	}
	var list tool.Text
	for i, f := range l.Faults {
		if i > 0 {
			list.Format += "\n      "
		}
		list.Format += "%v"
		list.Args = append(list.Args, f.Text())
	}
	return &msg.Problem{Code: msg.Usage, Text: list, Hint: tool.Textf("correct the file; `weir config validate` checks it")}
}

// Load reads the configuration of p and the .env beside it. Without a file the
// settings are empty, except for the plugin folder in the data folder and the tools that
// came with the program. An error is
// a file or a flag that cannot be used; what is wrong inside tools.toml is in
// Faults.
func (o Source) Load(p Paths) (Loaded, error) {
	if p.Config == "" {
		return o.LoadText(p, nil)
	}
	text, err := within.ReadText(p.Config)
	if err != nil {
		return Loaded{}, msg.Usagef("give a file that you may read", "the configuration %s cannot be read: %s", p.Config, msg.Reason(err))
	}
	return o.LoadText(p, text)
}

// LoadText is Load with another text in place of the file's. Nil: there is none.
func (o Source) LoadText(p Paths, text []byte) (l Loaded, err error) {
	vars, skipped, err := dotenv.Read(p.Config)
	if err != nil {
		return l, err
	}
	l.Skipped, l.Secrets = skipped, first(o.Lookup, lookIn(vars))
	if text != nil {
		l.Settings, l.Faults = Parse(p.Config, string(text))
	}
	s := &l.Settings
	if len(s.Plugins.Folder) == 0 {
		s.Plugins.Folder = []FolderSettings{{Path: filepath.Join(p.Data, "plugins"), Trust: "ask"}}
	}
	if err := o.addShipped(s, p); err != nil {
		return l, err
	}
	env := l.Secrets
	for _, flag := range [][2]string{{"--plugins", o.Plugins}, {"--workspace", o.Workspace}} {
		if st, err := os.Stat(flag[1]); flag[1] != "" && (err != nil || !st.IsDir()) {
			return l, msg.Usagef("give a folder that exists", "%s %s is not a folder", flag[0], flag[1])
		}
	}
	if o.Workspace != "" {
		env = first(lookIn(map[string]string{"WEIR_WORKSPACE": o.Workspace}), l.Secrets)
	}
	s.expand(env, dotenv.File(p.Config))
	digestTokens(s, p.Config)
	o.makeAbsolute(s, p)
	return l, s.Telemetry.fromEnv(l.Secrets)
}

// expand replaces the references to variables. It remembers what the references
// were where that is needed later: the variable of a model's key with the file that
// may set it, and the arguments of a server as they are written.
func (s *Settings) expand(env Lookup, envFile string) {
	for name, m := range s.Models {
		m.keyEnv, m.envFile = Variable(m.Key), envFile
		m.literal = m.Key != "" && !strings.Contains(m.Key, "${")
		s.Models[name] = m
	}
	written := map[string][]string{}
	for name, e := range s.Servers {
		written[name] = slices.Clone(e.Args)
	}
	s.unset, s.used = expand(s, env)
	for name, e := range s.Servers {
		e.written = written[name]
		s.Servers[name] = e
	}
}

// first returns a Lookup that asks a, then b.
func first(a, b Lookup) Lookup {
	return func(name string) (string, bool) {
		if v, ok := a(name); ok {
			return v, true
		}
		return b(name)
	}
}

// lookIn returns a Lookup in a map.
func lookIn(vars map[string]string) Lookup {
	return func(name string) (string, bool) {
		v, ok := vars[name]
		return v, ok
	}
}

// makeAbsolute makes paths absolute. Plugin folders are relative to the file, granted
// folders to the folder where the command was started.
func (o Source) makeAbsolute(s *Settings, p Paths) {
	base := filepath.Dir(p.Config)
	if o.Plugins != "" {
		s.Plugins.Folder = []FolderSettings{{Path: o.Plugins, Trust: "granted"}}
		base = "."
	}
	for i := range s.Plugins.Folder {
		if f := &s.Plugins.Folder[i]; !filepath.IsAbs(f.Path) {
			f.Path = filepath.Join(base, f.Path)
		}
	}
	if f := &s.Scripts.Folder; *f == "" {
		*f = filepath.Join(filepath.Dir(p.Config), "scripts")
	} else if !filepath.IsAbs(*f) {
		*f = filepath.Join(filepath.Dir(p.Config), *f)
	}
	for _, g := range s.Grants {
		for i := range g.Paths {
			if abs, err := filepath.Abs(g.Paths[i].Host); err == nil {
				g.Paths[i].Host = abs
			}
		}
	}
}
