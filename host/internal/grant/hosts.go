package grant

import (
	"net/netip"
	"slices"
	"strconv"

	"github.com/weirhost/weir/host/internal/egress"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// hosts returns the row of network hosts. What is allowed is the intersection of
// the asked rule and each granted rule.
func hosts() power {
	return row[registry.HostAsk]{
		Key:      "hosts",
		Ask:      func(a registry.Asks) []registry.HostAsk { return a.Hosts },
		Granted:  hostGranted,
		Describe: describeHost,
		Exceeds: func(a registry.HostAsk, before []registry.HostAsk, g plugin.Grant) bool {
			return !slices.ContainsFunc(before, func(b registry.HostAsk) bool { return covers(b.Rule, a.Rule) }) &&
				!slices.ContainsFunc(g.Hosts, func(h plugin.HostGrant) bool {
					rule, err := egress.ParseRule(h.Host)
					return err == nil && covers(rule, a.Rule)
				})
		},
		Implied: func(g plugin.Grant, asks *registry.Asks) {
			for _, h := range g.Hosts {
				if rule, err := egress.ParseRule(h.Host); err == nil { // CheckHosts reports the others
					asks.Hosts = append(asks.Hosts, registry.HostAsk{Rule: rule, Reason: impliedReason()})
				}
			}
		},
	}
}

func describeHost(a registry.HostAsk) Description {
	return Description{
		Kind: "host", What: a.Rule.String(), Sentence: tool.Textf("the host %s", a.Rule.String()),
		Name: "host " + a.Rule.String(), Value: "send and receive", Reason: a.Reason,
	}
}

func hostGranted(r *Resolution, asks []registry.HostAsk, i int, g plugin.Grant) (granted bool) {
	a := asks[i]
	r.CheckHosts(g.Hosts)
	for _, h := range g.Hosts {
		both, rule, ok := common(a, h)
		if !ok {
			continue
		}
		granted = true
		r.rules = append(r.rules, both)
		if h.Private || isPrivateName(rule.Host) {
			r.private = append(r.private, both.Host)
		}
	}
	if !granted && !(isAny(a.Rule) && slices.ContainsFunc(asks, func(other registry.HostAsk) bool { return isAny(other.Rule) && partlyGranted(other, g) })) {
		r.missAsk(describeHost(a), "hosts", strconv.Quote(a.Rule.String()))
	}
	return granted
}

// CheckHosts records granted hosts that are invalid. Resolve does so only for a
// plugin that asks for hosts.
func (r *Resolution) CheckHosts(grants []plugin.HostGrant) {
	for _, h := range grants {
		if _, err := egress.ParseRule(h.Host); err != nil {
			r.miss(tool.Textf("its grant names %s", err))
			r.advise(tool.Textf("correct the grant"))
		}
	}
}

// common returns what an ask and a grant have in common, and the rule of the grant.
func common(a registry.HostAsk, h plugin.HostGrant) (both, rule egress.Rule, ok bool) {
	rule, err := egress.ParseRule(h.Host)
	if err != nil {
		return both, rule, false
	}
	both, ok = registry.Intersect(a.Rule, rule)
	return both, rule, ok
}

func partlyGranted(a registry.HostAsk, g plugin.Grant) bool {
	return slices.ContainsFunc(g.Hosts, func(h plugin.HostGrant) bool {
		_, _, ok := common(a, h)
		return ok
	})
}

// isAny reports whether a rule is for every host. A plugin that asks for it works
// with any part of it: the operator may omit plain http, for instance.
func isAny(r egress.Rule) bool { return r.Host == "*" }

// isPrivateName reports whether the spelling of a granted host already says that it
// may be private. No name server can then decide that.
func isPrivateName(host string) bool {
	if host == "localhost" {
		return true
	}
	_, err := netip.ParseAddr(host)
	return err == nil
}

// IsPart reports whether a host that is asked for, as Describe names it, covers another
// one: api.example.com is a part of *.example.com. The error says how part is misspelled.
func IsPart(part, of string) (bool, error) {
	inner, err := egress.ParseRule(part)
	if err != nil {
		return false, err
	}
	outer, err := egress.ParseRule(of)
	return err == nil && covers(outer, inner), err
}

// covers reports whether outer allows everything that inner allows.
func covers(outer, inner egress.Rule) bool {
	both, ok := registry.Intersect(outer, inner)
	return ok && both == inner
}
