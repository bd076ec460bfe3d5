package grant

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/weirhost/weir/host/internal/egress"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// secrets returns the row of secrets. A secret is sent only to a host that is
// granted by name; "*" does not suffice.
func secrets() power {
	return row[registry.SecretAsk]{
		Key:      "secrets",
		Ask:      func(a registry.Asks) []registry.SecretAsk { return a.Secrets },
		Granted:  secretGranted,
		Describe: describeSecret,
		// A secret that goes to another host, or in another form, is another ask: the
		// grant names the secret, not where it goes.
		Exceeds: func(a registry.SecretAsk, before []registry.SecretAsk, g plugin.Grant) bool {
			same := func(b registry.SecretAsk) bool {
				return b.Name == a.Name && b.Host == a.Host && b.Header == a.Header && b.Format == a.Format
			}
			moved := func(b registry.SecretAsk) bool { return b.Name == a.Name }
			return !slices.ContainsFunc(before, same) && (!namesSecret(g, a.Name) || slices.ContainsFunc(before, moved))
		},
		Implied: func(g plugin.Grant, asks *registry.Asks) {
			for _, i := range g.Inject {
				i = i.WithDefaults()
				asks.Secrets = append(asks.Secrets, registry.SecretAsk{Name: i.Name, Header: i.Header, Format: i.Format, Host: i.Host, Reason: impliedReason()})
			}
		},
	}
}

func describeSecret(a registry.SecretAsk) Description {
	return Description{
		Kind: "secret", What: a.Name + " → " + a.Host, Sentence: tool.Textf("the secret %s for %s", a.Name, a.Host),
		Name: "secret " + a.Name, Value: fmt.Sprintf("sent to %s in the header %s as %s", a.Host, a.Header, a.Format), Reason: a.Reason,
	}
}

func namesSecret(g plugin.Grant, name string) bool {
	return slices.Contains(g.Secrets, name) || slices.ContainsFunc(g.Inject, func(i plugin.Injection) bool { return i.Name == name })
}

func secretGranted(r *Resolution, asks []registry.SecretAsk, i int, g plugin.Grant) bool {
	a := asks[i]
	var named []registry.HostAsk
	for _, rule := range r.rules {
		if !isAny(rule) {
			named = append(named, registry.HostAsk{Rule: rule})
		}
	}
	value, isSet := "", false
	if r.resolver.Secret != nil {
		value, isSet = r.resolver.Secret(a.Name)
	}
	switch {
	case !namesSecret(g, a.Name):
		r.missAsk(describeSecret(a), "secrets", strconv.Quote(a.Name))
	case !registry.Covers(named, a.Host):
		r.miss(tool.Textf("its secret %s goes to %s, which is not granted by name", a.Name, a.Host))
		r.suggest("hosts", strconv.Quote(a.Host))
	case !isSet || value == "":
		r.miss(tool.Textf("the secret %s is not set", a.Name))
		r.advise(tool.Textf("write %s=… into the file .env beside tools.toml (mode 0600) and run `weir reload`, or set it in the environment and start again", a.Name))
	default:
		r.secrets = append(r.secrets, egress.Secret{Name: a.Name, Header: a.Header, Format: a.Format, Host: a.Host, Value: value})
		return true
	}
	return false
}
