package host

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/weirhost/weir/host/internal/egress"
	"github.com/weirhost/weir/host/internal/jail"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/host/plugin"
)

// A bargain is what comes of a plugin's asks and the operator's grant.
type bargain struct {
	asks   []plugin.Ask
	grant  sandbox.Grant
	reach  []string            // the hosts that the grant's HTTP leads to
	lacks  []string            // why the plugin has to wait
	edits  map[string][]string // what to add below [grants.<name>], by key
	others []string            // what to do elsewhere
	// anyHost says that the hosts were not all named: a plugin's guest can choose.
	anyHost bool
}

// wait notes something that keeps the plugin waiting.
func (b *bargain) wait(why string) { b.lacks = appendNew(b.lacks, why) }

// advise notes something to do that is no edit of the plugin's grant.
func (b *bargain) advise(what string) { b.others = appendNew(b.others, what) }

func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// edit notes an element that a key of the plugin's grant lacks.
func (b *bargain) edit(key, element string) {
	if b.edits == nil {
		b.edits = map[string][]string{}
	}
	b.edits[key] = appendNew(b.edits[key], element)
}

// strike brings asks and grant together: what both name, and no more.
func (c Config) strike(asks registry.Asks, g plugin.Grant) bargain {
	var b bargain
	b.paths(asks.Paths, g.Paths)
	rules, private := b.hosts(asks.Hosts, g.Hosts)
	secrets := b.secrets(asks.Secrets, g, rules, c.Secret)
	b.anyHost = slices.ContainsFunc(rules, func(r egress.Rule) bool { return strings.Contains(r.Host, "*") })
	if len(rules) > 0 && len(b.lacks) == 0 {
		client, err := egress.New(egress.Policy{Allow: rules, Secrets: secrets, AllowPrivate: private, Transport: c.Transport})
		if err != nil {
			b.wait("what it is granted cannot be used: " + err.Error())
			b.advise("correct the grant")
		} else {
			b.grant.HTTP, b.reach = client, client.Hosts()
		}
	}
	return b
}

// paths grants a folder when the operator names the same guest path. It can be
// written to only if both say so.
func (b *bargain) paths(asks []registry.PathAsk, grants []plugin.PathGrant) {
	for _, a := range asks {
		mode := "ro"
		if a.Write {
			mode = "rw"
		}
		info := plugin.Ask{Kind: "path", What: a.Guest + " (" + mode + ")", Reason: a.Reason}
		i := slices.IndexFunc(grants, func(g plugin.PathGrant) bool { return g.Guest == a.Guest })
		if i < 0 {
			b.wait(fmt.Sprintf("it asks for the folder %s (%s)%s and is not granted it", a.Guest, mode, because(a.Reason)))
			b.edit("paths", fmt.Sprintf("{ guest = %q, host = \"a folder of yours\", mode = %q }", a.Guest, mode))
		} else if dir, err := folder(grants[i].Host); err != nil {
			b.wait(fmt.Sprintf("the folder granted as %s, %q, %s", a.Guest, grants[i].Host, err))
			b.advise("make the folder, or grant another one")
		} else {
			info.Granted = true
			b.grant.Mounts = append(b.grant.Mounts, jail.Mount{Guest: a.Guest, Host: dir, Write: a.Write && grants[i].Mode == "rw"})
		}
		b.asks = append(b.asks, info)
	}
}

// folder returns a folder's absolute path, or what is wrong with it.
func folder(path string) (string, error) {
	st, err := os.Stat(path)
	switch {
	case err != nil && os.IsNotExist(err):
		return "", fmt.Errorf("does not exist")
	case err != nil:
		return "", fmt.Errorf("cannot be read")
	case !st.IsDir():
		return "", fmt.Errorf("is not a folder")
	}
	return filepath.Abs(path)
}

// hosts returns the rules that asks and grants have in common, and the hosts
// that may be private.
func (b *bargain) hosts(asks []registry.HostAsk, grants []plugin.HostGrant) (rules []egress.Rule, private []string) {
	for _, a := range asks {
		info := plugin.Ask{Kind: "host", What: a.Rule.String(), Reason: a.Reason}
		for _, g := range grants {
			rule, err := egress.ParseRule(g.Host)
			if err != nil {
				b.wait("its grant names " + err.Error())
				b.advise("correct the grant")
				continue
			}
			if both, ok := registry.Intersect(a.Rule, rule); ok {
				info.Granted = true
				rules = append(rules, both)
				if g.Private || namesItself(rule.Host) {
					private = append(private, both.Host)
				}
			}
		}
		if !info.Granted && !(wide(a.Rule) && slices.ContainsFunc(asks, func(other registry.HostAsk) bool { return wide(other.Rule) && granted(other, grants) })) {
			b.wait(fmt.Sprintf("it asks for the host %s%s and is not granted it", a.Rule, because(a.Reason)))
			b.edit("hosts", strconv.Quote(a.Rule.String()))
		}
		b.asks = append(b.asks, info)
	}
	return rules, private
}

// wide reports whether a rule is for every host. A plugin that asks so works
// with whatever part of it is granted: the operator may leave out the rest,
// plain http for instance.
func wide(r egress.Rule) bool { return r.Host == "*" }

// granted reports whether any of the grants gives a part of what is asked.
func granted(a registry.HostAsk, grants []plugin.HostGrant) bool {
	return slices.ContainsFunc(grants, func(g plugin.HostGrant) bool {
		rule, err := egress.ParseRule(g.Host)
		if err != nil {
			return false
		}
		_, ok := registry.Intersect(a.Rule, rule)
		return ok
	})
}

// namesItself reports whether a granted host says by its own spelling that it
// is private, so that nobody else's name server decides it.
func namesItself(host string) bool {
	if host == "localhost" {
		return true
	}
	_, err := netip.ParseAddr(host)
	return err == nil
}

// secrets returns the granted secrets with their values. A secret goes only to
// a host that is granted by name: "*" is no grant for it.
func (b *bargain) secrets(asks []registry.SecretAsk, g plugin.Grant, rules []egress.Rule, lookup func(string) (string, bool)) []egress.Secret {
	var named []registry.HostAsk
	for _, r := range rules {
		if r.Host != "*" {
			named = append(named, registry.HostAsk{Rule: r})
		}
	}
	var out []egress.Secret
	for _, a := range asks {
		info := plugin.Ask{Kind: "secret", What: a.Name + " → " + a.Host, Reason: a.Reason}
		value, set := "", false
		if lookup != nil {
			value, set = lookup(a.Name)
		}
		switch {
		case !slices.Contains(g.Secrets, a.Name) && !slices.ContainsFunc(g.Inject, func(i plugin.Injection) bool { return i.Name == a.Name }):
			b.wait(fmt.Sprintf("it asks for the secret %s, to be sent to %s,%s and is not granted it", a.Name, a.Host, because(a.Reason)))
			b.edit("secrets", strconv.Quote(a.Name))
		case !registry.Covers(named, a.Host):
			b.wait(fmt.Sprintf("its secret %s goes to %s, which is not granted by name", a.Name, a.Host))
			b.edit("hosts", strconv.Quote(a.Host))
		case !set || value == "":
			b.wait(fmt.Sprintf("the secret %s is not set", a.Name))
			b.advise(fmt.Sprintf("set %s in the environment, or in the file .env beside tools.toml (mode 0600), and start again", a.Name))
		default:
			info.Granted = true
			out = append(out, egress.Secret{Name: a.Name, Header: a.Header, Format: a.Format, Host: a.Host, Value: value})
		}
		b.asks = append(b.asks, info)
	}
	return out
}

// because adds a plugin's reason to a sentence.
func because(reason string) string {
	if reason == "" {
		return ""
	}
	return fmt.Sprintf(" (%q)", reason)
}

// fix is the edit that ends the waiting.
func (b *bargain) fix(plugin string) string {
	var lines, parts []string
	for _, key := range []string{"paths", "hosts", "secrets"} {
		if list := b.edits[key]; len(list) > 0 {
			lines = append(lines, fmt.Sprintf("%s = [%s]", key, strings.Join(list, ", ")))
		}
	}
	if len(lines) > 0 {
		parts = append(parts, fmt.Sprintf("in tools.toml, below [grants.%s], write: %s", plugin, strings.Join(lines, " and ")))
	}
	return strings.Join(append(parts, b.others...), "; and ")
}

// settings renders the plugin's settings as the guest reads them: the
// operator's value for the tool, else that for the plugin, else the default.
// Wrong and missing ones keep the tool waiting.
func (b *bargain) settings(m registry.Manifest, toolName string, own, shared map[string]any) map[string]string {
	out := map[string]string{}
	given := over(shared, own)
	table := func(key string) string {
		if _, ok := own[key]; !ok && given[key] != nil {
			return "[grants." + m.Name + "]"
		}
		return "[tools." + toolName + "]"
	}
	var names []string
	for _, s := range m.Settings {
		names = append(names, s.Name)
		v, ok := given[s.Name]
		if !ok {
			if s.Default == nil {
				b.wait(fmt.Sprintf("its setting %s has no default and is not set", s.Name))
				b.advise(fmt.Sprintf("in tools.toml, below %s, write: config = { %s = … }", table(s.Name), s.Name))
				continue
			}
			v = s.Default
		}
		value, err := s.Value(v)
		if err != nil {
			b.wait(fmt.Sprintf("the setting %s of %s %s", s.Name, table(s.Name), err))
			b.advise(fmt.Sprintf("correct config below %s in tools.toml", table(s.Name)))
			continue
		}
		out[s.Name] = settingText(value)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(names, name) {
			b.wait(fmt.Sprintf("%s sets %s, which the plugin does not have", table(name), name))
			b.advise(fmt.Sprintf("take it out of config below %s in tools.toml; the plugin has: %s", table(name), strings.Join(names, ", ")))
		}
	}
	return out
}

// settingText is how a guest reads a setting: strings as they are, everything
// else as JSON.
func settingText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	text, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(text)
}
