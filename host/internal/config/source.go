package config

// A Lookup finds a variable of the environment.
type Lookup func(name string) (string, bool)

// A Source says where the configuration is and what replaces parts of it: what
// the flags of every command give.
type Source struct {
	Config    string // the file; empty: it is searched for
	Data      string // the data folder; empty: those of XDG
	Plugins   string // the one plugin folder, in place of [[plugins.folder]]
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
