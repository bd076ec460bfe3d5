package config

import (
	"os"
	"path/filepath"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/within"
)

// A Lookup finds a variable of the environment.
type Lookup func(name string) (string, bool)

// A Source says where the configuration is and what replaces parts of it: what
// the flags of every command give.
type Source struct {
	Config    string // the file; empty: it is searched for
	Data      string // the data folder; empty: those of XDG
	Plugins   string // the one plugin folder, in place of [[plugins.folder]]
	Shipped   string // the folder of ShippedWith; empty: no tools came with the program
	Workspace string // WEIR_WORKSPACE, in place of the variable
	Env       Lookup // nil: there are no variables
}

// Getenv returns a variable, or "" when it is not set.
func (o Source) Getenv(name string) string {
	v, _ := o.Lookup(name)
	return v
}

// Lookup finds a variable; it is Env, or finds nothing.
func (o Source) Lookup(name string) (string, bool) {
	if o.Env == nil {
		return "", false
	}
	return o.Env(name)
}

// ShippedWith returns the folder with the tools that were installed with the program
// file exe, and the tools.toml that grants them what they need: the folder above that
// of exe, as in a clone, or lib/weir in it, as `make install` leaves it. Whoever can
// write there can replace exe as well. Empty: there are none.
func ShippedWith(exe string) string {
	if real, err := filepath.EvalSymlinks(exe); err == nil {
		exe = real
	}
	above := filepath.Dir(filepath.Dir(exe))
	for _, dir := range []string{filepath.Join(above, "lib", "weir"), above} {
		file, err := os.Stat(filepath.Join(dir, FileName))
		plugins, missing := os.Stat(filepath.Join(dir, "plugins"))
		if err == nil && missing == nil && file.Mode().IsRegular() && plugins.IsDir() {
			return dir
		}
	}
	return ""
}

// addShipped adds the folder of the shipped tools, after all others, and the grants of
// the tools.toml beside it, unless the settings have a grant of that name.
func (o Source) addShipped(s *Settings, p Paths) error {
	if o.Shipped == "" || o.Plugins != "" || s.Plugins.Shipped != nil && !*s.Plugins.Shipped {
		return nil
	}
	file := filepath.Join(o.Shipped, FileName)
	if sameFile(file, p.Config) { // it says itself what there is
		return nil
	}
	text, err := within.ReadText(file)
	if err != nil {
		return msg.Usagef("give a file that you may read", "the configuration %s cannot be read: %s", file, msg.Reason(err))
	}
	came, _ := Parse(file, string(text)) // what is wrong in it grants nothing
	s.Plugins.Folder = append(s.Plugins.Folder, FolderSettings{Path: filepath.Join(o.Shipped, "plugins"), Trust: "granted", shipped: true})
	if s.Grants == nil {
		s.Grants = map[string]GrantSettings{}
	}
	for name, g := range came.Grants {
		if _, own := s.Grants[name]; !own {
			s.Grants[name] = g
		}
	}
	return nil
}
