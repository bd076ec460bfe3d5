package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weirhost/weir/host/internal/msg"
)

// AddGrant adds a grant to [grants.<name>] in the text of a configuration file. It
// returns the new text and the whole grant.
func AddGrant(file, text, name string, wish GrantSettings) (after string, merged GrantSettings, err error) {
	before, _ := Parse(file, text)
	merged = merge(before.Grants[name], wish)
	after = text
	for _, kv := range [][2]string{{"secrets", secretsText(merged.Secrets)}, {"hosts", hostsText(merged.Hosts)}, {"paths", pathsText(merged.Paths)}} {
		if kv[1] != "[]" {
			after = SetKey(after, "grants."+name, kv[0], kv[1])
		}
	}
	if got, faults := Parse(file, after); len(faults) > 0 || !sameGrant(got.Grants[name], merged) {
		return "", merged, msg.Usagef("", "%s is written in a way that this command cannot edit", file).WithHint("write below [grants.%s] yourself: %s", name, GrantText(merged))
	}
	return after, merged, nil
}

// merge adds the grant w to g. For a folder that both have, w decides.
func merge(g, w GrantSettings) GrantSettings {
	out := GrantSettings{Hosts: slices.Clone(g.Hosts), Secrets: slices.Clone(g.Secrets)}
	for _, p := range g.Paths {
		if !slices.ContainsFunc(w.Paths, func(o PathGrant) bool { return o.Guest == p.Guest }) {
			out.Paths = append(out.Paths, p)
		}
	}
	out.Paths = append(out.Paths, w.Paths...)
	for _, h := range w.Hosts {
		if !slices.ContainsFunc(out.Hosts, func(o HostGrant) bool { return o.Host == h.Host }) {
			out.Hosts = append(out.Hosts, h)
		}
	}
	for _, s := range w.Secrets {
		if !slices.ContainsFunc(out.Secrets, func(o SecretGrant) bool { return o.Name == s.Name }) {
			out.Secrets = append(out.Secrets, s)
		}
	}
	return out
}

func sameGrant(a, b GrantSettings) bool {
	return slices.Equal(a.Paths, b.Paths) && slices.Equal(a.Hosts, b.Hosts) && slices.Equal(a.Secrets, b.Secrets)
}

// GrantText returns a grant in the form of tools.toml.
func GrantText(g GrantSettings) string {
	var out []string
	for _, kv := range [][2]string{{"paths", pathsText(g.Paths)}, {"hosts", hostsText(g.Hosts)}, {"secrets", secretsText(g.Secrets)}} {
		if kv[1] != "[]" {
			out = append(out, kv[0]+" = "+kv[1])
		}
	}
	return strings.Join(out, " and ")
}

func pathsText(list []PathGrant) string {
	return List(list, func(p PathGrant) string {
		mode := ""
		if p.Mode != "" {
			mode = ", mode = " + Quote(p.Mode)
		}
		return fmt.Sprintf("{ guest = %s, host = %s%s }", Quote(p.Guest), Quote(p.Host), mode)
	})
}

func hostsText(list []HostGrant) string {
	return List(list, func(h HostGrant) string {
		if h.Private {
			return fmt.Sprintf("{ host = %s, private = true }", Quote(h.Host))
		}
		return Quote(h.Host)
	})
}

func secretsText(list []SecretGrant) string {
	return List(list, func(s SecretGrant) string {
		if s == (SecretGrant{Name: s.Name}) {
			return Quote(s.Name)
		}
		text := "{ name = " + Quote(s.Name)
		for _, kv := range [][2]string{{"header", s.Header}, {"format", s.Format}, {"host", s.Host}} {
			if kv[1] != "" {
				text += ", " + kv[0] + " = " + Quote(kv[1])
			}
		}
		return text + " }"
	})
}

// List returns a TOML list of values.
func List[T any](list []T, text func(T) string) string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = text(v)
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// Quote returns a TOML string. TOML does not have Go's escapes \x and \a.
func Quote(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == '\'' || r == 0x7f }) {
		if strings.ContainsAny(s, `\"`) { // Windows paths, for example
			return "'" + s + "'"
		}
		return `"` + s + `"`
	}
	return strconv.Quote(s)
}
