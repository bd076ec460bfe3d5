package host

import (
	"maps"
	"slices"
	"strings"

	"github.com/weirhost/weir/host/internal/egress"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/plugin"
)

// foreignReason is shown where a plugin's own reason would stand.
const foreignReason = "granted in tools.toml; the plugin cannot say what it needs"

// adopt gives a plugin of a foreign ABI the asks that it cannot state: what
// the operator grants it is both.
func (h *Host) adopt(p *registry.Plugin) {
	if p.ABI != registry.ABIOwn {
		p.Manifest.Asks = asksOf(h.grants()[p.Manifest.Name])
	}
}

func asksOf(g plugin.Grant) (a registry.Asks) {
	for _, p := range g.Paths {
		a.Paths = append(a.Paths, registry.PathAsk{Guest: p.Guest, Write: p.Mode == "rw", Reason: foreignReason})
	}
	for _, x := range g.Hosts {
		// A grant that cannot be read is told of when the bargain is struck.
		if rule, err := egress.ParseRule(x.Host); err == nil {
			a.Hosts = append(a.Hosts, registry.HostAsk{Rule: rule, Reason: foreignReason})
		}
	}
	for _, s := range g.Inject {
		s = s.WithDefaults()
		a.Secrets = append(a.Secrets, registry.SecretAsk{Name: s.Name, Header: s.Header, Format: s.Format, Host: s.Host, Reason: foreignReason})
	}
	return a
}

// foreignConfig is what a plugin of a foreign ABI reads as its configuration:
// the plugin's values, and over them those of the one tool. It cannot say which
// keys it knows.
func foreignConfig(plugin, one map[string]any) map[string]string {
	out := map[string]string{}
	for _, values := range []map[string]any{plugin, one} {
		for _, k := range slices.Sorted(maps.Keys(values)) {
			if !strings.HasPrefix(k, "weir.") {
				out[k] = settingText(values[k])
			}
		}
	}
	return out
}

// over merges settings; those of b come before those of a.
func over(a, b map[string]any) map[string]any {
	if len(a) == 0 {
		return b
	}
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

// legible notes granted hosts that cannot be read: no ask stands beside them.
func (b *bargain) legible(grants []plugin.HostGrant) {
	for _, g := range grants {
		if _, err := egress.ParseRule(g.Host); err != nil {
			b.wait("its grant names " + err.Error())
			b.advise("correct the grant")
		}
	}
}
