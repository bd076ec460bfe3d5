package host

import (
	"fmt"
	"slices"

	"github.com/weirhost/weir/host/internal/egress"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/plugin"
)

// wider reports whether something is asked for that was neither asked for
// before nor is granted whole.
func wider(asks, before registry.Asks, g plugin.Grant) bool { return widest(asks, before, g) != "" }

// widest names the first thing that is asked for beyond what was asked before
// and what is granted; empty: nothing.
func widest(asks, before registry.Asks, g plugin.Grant) string {
	for _, a := range asks.Paths {
		if !pathAsked(a, before.Paths) && !pathGranted(a, g.Paths) {
			return fmt.Sprintf("the folder %s%s", pathWhat(a), because(a.Reason))
		}
	}
	for _, a := range asks.Hosts {
		if !hostAsked(a, before.Hosts) && !hostGranted(a, g.Hosts) {
			return fmt.Sprintf("the host %s%s", a.Rule, because(a.Reason))
		}
	}
	for _, a := range asks.Secrets {
		if !secretAsked(a, before.Secrets) && !secretGranted(a.Name, g) {
			return fmt.Sprintf("the secret %s, to be sent to %s%s", a.Name, a.Host, because(a.Reason))
		}
	}
	return ""
}

func pathWhat(a registry.PathAsk) string {
	if a.Write {
		return a.Guest + " (rw)"
	}
	return a.Guest + " (ro)"
}

func pathAsked(a registry.PathAsk, before []registry.PathAsk) bool {
	return slices.ContainsFunc(before, func(b registry.PathAsk) bool { return b.Guest == a.Guest && (b.Write || !a.Write) })
}

func pathGranted(a registry.PathAsk, grants []plugin.PathGrant) bool {
	return slices.ContainsFunc(grants, func(g plugin.PathGrant) bool { return g.Guest == a.Guest && (g.Mode == "rw" || !a.Write) })
}

func hostAsked(a registry.HostAsk, before []registry.HostAsk) bool {
	return slices.ContainsFunc(before, func(b registry.HostAsk) bool { return holds(b.Rule, a.Rule) })
}

func hostGranted(a registry.HostAsk, grants []plugin.HostGrant) bool {
	return slices.ContainsFunc(grants, func(g plugin.HostGrant) bool {
		rule, err := egress.ParseRule(g.Host)
		return err == nil && holds(rule, a.Rule)
	})
}

// holds reports whether everything under the rule inner is under outer.
func holds(outer, inner egress.Rule) bool {
	both, ok := registry.Intersect(outer, inner)
	return ok && both == inner
}

// A secret that goes elsewhere, or in another form, is another ask.
func secretAsked(a registry.SecretAsk, before []registry.SecretAsk) bool {
	return slices.ContainsFunc(before, func(b registry.SecretAsk) bool {
		return b.Name == a.Name && b.Host == a.Host && b.Header == a.Header && b.Format == a.Format
	})
}

func secretGranted(name string, g plugin.Grant) bool {
	return slices.Contains(g.Secrets, name) || slices.ContainsFunc(g.Inject, func(i plugin.Injection) bool { return i.Name == name })
}
