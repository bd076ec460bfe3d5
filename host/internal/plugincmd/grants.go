package plugincmd

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/egress"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/host/plugin"
)

// A request contains the grants that a person adds to those of a plugin.
type request config.GrantSettings

func (w request) empty() bool { return len(w.Paths)+len(w.Hosts)+len(w.Secrets) == 0 }

// requestedGrants returns the grants of --path, --host and --secret. The version must
// ask for each of them. A foreign plugin, made for another host, cannot ask: it gets the
// hosts that a person names.
func (c *Commands) requestedGrants(v *plugin.Version, foreign bool, a Approval) (w request, err error) {
	for _, text := range a.Paths {
		p, err := parsePath(text)
		if err != nil {
			return w, err
		}
		as := func(mode string) bool {
			return asksFor(v, "path", func(what string) bool { return what == p.Guest+" ("+mode+")" })
		}
		switch {
		case !as("ro") && !as("rw"):
			return w, msg.Usagef(askHint(v, "path"), "it does not ask for the folder %s", p.Guest)
		case p.Mode == "rw" && !as("rw"): // a later version would write there without a question
			return w, msg.Usagef("leave out :rw", "it asks to read the folder %s, and not to write to it", p.Guest)
		}
		w.Paths = append(w.Paths, p)
	}
	for _, text := range a.Hosts {
		rule, err := egress.ParseRule(text)
		if err != nil {
			return w, msg.Usagef(askHint(v, "host"), "%s", err)
		}
		if !foreign && !asksFor(v, "host", func(what string) bool { return meets(what, rule) }) {
			return w, msg.Usagef(askHint(v, "host"), "it does not ask for the host %s", text)
		}
		w.Hosts = append(w.Hosts, config.HostGrant{Host: text})
	}
	for _, name := range a.Secrets {
		if !asksFor(v, "secret", func(what string) bool { return strings.HasPrefix(what, name+" ") }) {
			return w, msg.Usagef(askHint(v, "secret"), "it does not ask for the secret %s", name)
		}
		w.Secrets = append(w.Secrets, config.SecretGrant{Name: name})
	}
	return w, nil
}

// gives reports whether the request grants what a version asks for.
func (w request) gives(a plugin.Ask) bool {
	what, mode, _ := strings.Cut(a.What, " ") // a secret's has its host after it
	switch a.Kind {
	case "path":
		return slices.ContainsFunc(w.Paths, func(p config.PathGrant) bool { return p.Guest == what && mode == "("+p.Mode+")" })
	case "host":
		return slices.ContainsFunc(w.Hosts, func(h config.HostGrant) bool {
			rule, err := egress.ParseRule(h.Host)
			return err == nil && meets(a.What, rule)
		})
	}
	return slices.ContainsFunc(w.Secrets, func(s config.SecretGrant) bool { return s.Name == what })
}

func meets(what string, rule egress.Rule) bool {
	ask, err := egress.ParseRule(what)
	if err != nil {
		return false
	}
	_, ok := registry.Intersect(ask, rule)
	return ok
}

// parsePath reads GUEST=DIR, with :rw after it for more than reading.
func parsePath(text string) (p config.PathGrant, err error) {
	guest, dir, ok := strings.Cut(text, "=")
	if !ok || !strings.HasPrefix(guest, "/") || dir == "" {
		return p, msg.Usagef("write for example --path /workspace=./docs, or --path /workspace=./docs:rw", "--path %s is not GUEST=DIR", text)
	}
	mode := "ro"
	if d, ok := strings.CutSuffix(dir, ":rw"); ok {
		dir, mode = d, "rw"
	} else {
		dir = strings.TrimSuffix(dir, ":ro")
	}
	if dir, err = existing(dir); err != nil {
		return p, err
	}
	return config.PathGrant{Guest: guest, Host: dir, Mode: mode}, nil
}

func existing(dir string) (string, error) {
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return "", msg.Usagef("give a folder that exists", "%s is not a folder", dir)
	}
	abs, err := filepath.Abs(dir)
	if err == nil && config.Variable(abs) != "" { // tools.toml would lead elsewhere
		return "", msg.Usagef("rename the folder", "tools.toml would read a variable in the name %s", abs)
	}
	return abs, err
}

// askGrants asks on the terminal for the grants that are still missing. An empty
// answer grants nothing.
func (c *Commands) askGrants(v *plugin.Version, w *request) {
	for _, a := range v.Asks {
		if a.Granted {
			continue
		}
		what, _, _ := strings.Cut(a.What, " ")
		switch a.Kind {
		case "path":
			if slices.ContainsFunc(w.Paths, func(p config.PathGrant) bool { return p.Guest == what }) {
				continue
			}
			mode := "ro"
			if strings.HasSuffix(a.What, "(rw)") {
				mode = "rw"
			}
			answer, _ := c.Ask(c.Sprintf("Which folder may it see as %s? Empty: none. ", term.Plain(a.What)))
			if answer == "" {
				continue
			}
			dir, err := existing(answer)
			if err != nil {
				c.Errf("%s; nothing is granted as %s\n", err, what)
				continue
			}
			w.Paths = append(w.Paths, config.PathGrant{Guest: what, Host: dir, Mode: mode})
		case "host":
			if !slices.ContainsFunc(w.Hosts, func(h config.HostGrant) bool { return h.Host == what }) && c.agrees("May it reach the host "+what+"?") {
				w.Hosts = append(w.Hosts, config.HostGrant{Host: what})
			}
		case "secret":
			if !slices.ContainsFunc(w.Secrets, func(s config.SecretGrant) bool { return s.Name == what }) && c.agrees("May it use the secret "+term.Plain(a.What)+"?") {
				w.Secrets = append(w.Secrets, config.SecretGrant{Name: what})
			}
		}
	}
}

func (c *Commands) agrees(question string) bool {
	answer, _ := c.Ask(c.text(question) + " [y/N] ")
	return strings.EqualFold(answer, "y") || strings.EqualFold(answer, "yes")
}

// writeGrant adds a request to [grants.<name>] of the configuration that the
// daemon reads.
func (c *Commands) writeGrant(d Daemon, name string, w request) error {
	file, text, err := c.Source.ReadForEdit(d.Config)
	if err != nil {
		return err
	}
	after, merged, err := config.AddGrant(file, text, name, config.GrantSettings(w))
	if err != nil {
		return err
	}
	if err := config.WriteFile(file, after); err != nil {
		return msg.Errorf("the configuration could not be written: %w", err)
	}
	c.Errf("granted in %s, below [grants.%s]: %s\n", file, name, config.GrantText(merged))
	return nil
}
