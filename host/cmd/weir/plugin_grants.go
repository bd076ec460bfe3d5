package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/egress"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/host/plugin"
)

// A wish is what a person wants to grant a plugin beside what it is granted.
type wish GrantSettings

func (w wish) empty() bool { return len(w.Paths)+len(w.Hosts)+len(w.Secrets) == 0 }

// wishes reads --path, --host and --secret and holds them to what is asked.
func (c *cli) wishes(v *plugin.Version, a approval) (w wish, err error) {
	for _, text := range a.paths {
		p, err := pathWish(text)
		if err != nil {
			return w, err
		}
		as := func(mode string) bool {
			return asksFor(v, "path", func(what string) bool { return what == p.Guest+" ("+mode+")" })
		}
		switch {
		case !as("ro") && !as("rw"):
			return w, usagef(asked(v, "path"), "it does not ask for the folder %s", p.Guest)
		case p.Mode == "rw" && !as("rw"): // a later version would write there without a question
			return w, usagef("leave out :rw", "it asks to read the folder %s, and not to write to it", p.Guest)
		}
		w.Paths = append(w.Paths, p)
	}
	for _, text := range a.hosts {
		rule, err := egress.ParseRule(text)
		if err != nil {
			return w, usagef(asked(v, "host"), "%s", err)
		}
		if !asksFor(v, "host", func(what string) bool { return meets(what, rule) }) {
			return w, usagef(asked(v, "host"), "it does not ask for the host %s", text)
		}
		w.Hosts = append(w.Hosts, HostGrant{Host: text})
	}
	for _, name := range a.secrets {
		if !asksFor(v, "secret", func(what string) bool { return strings.HasPrefix(what, name+" ") }) {
			return w, usagef(asked(v, "secret"), "it does not ask for the secret %s", name)
		}
		w.Secrets = append(w.Secrets, SecretGrant{Name: name})
	}
	return w, nil
}

func meets(what string, rule egress.Rule) bool {
	ask, err := egress.ParseRule(what)
	if err != nil {
		return false
	}
	_, ok := registry.Intersect(ask, rule)
	return ok
}

// pathWish reads GUEST=DIR, with :rw after it for more than reading.
func pathWish(text string) (p PathGrant, err error) {
	guest, dir, ok := strings.Cut(text, "=")
	if !ok || !strings.HasPrefix(guest, "/") || dir == "" {
		return p, usagef("write for example --path /workspace=./docs, or --path /workspace=./docs:rw", "--path %s is not GUEST=DIR", text)
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
	return PathGrant{Guest: guest, Host: dir, Mode: mode}, nil
}

func existing(dir string) (string, error) {
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return "", usagef("give a folder that exists", "%s is not a folder", dir)
	}
	return filepath.Abs(dir)
}

// askWishes asks on the terminal for what is still missing. An empty answer
// grants nothing.
func (c *cli) askWishes(name string, v *plugin.Version, w *wish) {
	for _, a := range v.Asks {
		if a.Granted {
			continue
		}
		what, _, _ := strings.Cut(a.What, " ")
		switch a.Kind {
		case "path":
			if slices.ContainsFunc(w.Paths, func(p PathGrant) bool { return p.Guest == what }) {
				continue
			}
			mode := "ro"
			if strings.HasSuffix(a.What, "(rw)") {
				mode = "rw"
			}
			answer, _ := c.prompt(fmt.Sprintf("Which folder may it see as %s? Empty: none. ", term.Plain(a.What)))
			if answer == "" {
				continue
			}
			dir, err := existing(answer)
			if err != nil {
				c.errf("%s is not a folder; nothing is granted as %s\n", answer, what)
				continue
			}
			w.Paths = append(w.Paths, PathGrant{Guest: what, Host: dir, Mode: mode})
		case "host":
			if !slices.ContainsFunc(w.Hosts, func(h HostGrant) bool { return h.Host == what }) && c.agrees("May it reach the host "+what+"?") {
				w.Hosts = append(w.Hosts, HostGrant{Host: what})
			}
		case "secret":
			if !slices.ContainsFunc(w.Secrets, func(s SecretGrant) bool { return s.Name == what }) && c.agrees("May it use the secret "+term.Plain(a.What)+"?") {
				w.Secrets = append(w.Secrets, SecretGrant{Name: what})
			}
		}
	}
}

func (c *cli) agrees(question string) bool {
	answer, _ := c.prompt(c.text(question) + " [y/N] ")
	return strings.EqualFold(answer, "y") || strings.EqualFold(answer, "yes")
}

// writeGrant adds a wish to [grants.<name>] of the configuration that the
// daemon reads.
func (c *cli) writeGrant(cl *session, name string, w wish) error {
	file, text, err := c.source().ReadForEdit(cl.config)
	if err != nil {
		return err
	}
	after, merged, err := config.AddGrant(file, text, name, GrantSettings(w))
	if err != nil {
		return err
	}
	if err := config.WriteFile(file, after); err != nil {
		return fmt.Errorf("the configuration could not be written: %w", err)
	}
	c.errf("granted in %s, below [grants.%s]: %s\n", file, name, config.GrantText(merged))
	return nil
}
