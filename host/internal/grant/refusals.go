package grant

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/weirhost/weir/host/internal/egress"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// maxNamed and maxHostChars bound what a model reads about refused hosts, because the
// plugin chooses their names.
const (
	maxNamed     = 3
	maxHostChars = 100
)

// Refusals remembers which hosts a plugin was refused, at most egress.MaxRefusals: a
// new one replaces the one that was requested longest ago. It is safe for concurrent
// use.
type Refusals struct {
	plugin string
	asks   func(host string) bool // whether a grant is all that is missing

	mu    sync.Mutex
	hosts []plugin.RefusedHost
}

// NewRefusals returns an empty memory for a plugin of that name. asks reports whether
// the plugin gets a host as soon as it is granted.
func NewRefusals(name string, asks func(host string) bool) *Refusals {
	return &Refusals{plugin: name, asks: asks}
}

// RefusalsOf returns an empty memory for pl.
func RefusalsOf(pl *registry.Plugin) *Refusals {
	m := pl.Manifest
	return NewRefusals(m.Name, func(host string) bool { return pl.ABI != registry.ABIOwn || registry.Covers(m.Asks.Hosts, host) })
}

// Add remembers the refusals of one call. It returns those of hosts that are new here.
func (r *Refusals) Add(list []egress.Refusal, now time.Time) (fresh []egress.Refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range list {
		i := slices.IndexFunc(r.hosts, func(h plugin.RefusedHost) bool { return h.Host == one.Host && h.Private == one.Private })
		if i < 0 {
			fresh = append(fresh, one)
			if i = len(r.hosts); i < egress.MaxRefusals {
				r.hosts = append(r.hosts, plugin.RefusedHost{})
			} else {
				i = oldest(r.hosts)
			}
			r.hosts[i] = plugin.RefusedHost{Host: one.Host, Private: one.Private, Fix: r.Fix([]egress.Refusal{one})}
		}
		r.hosts[i].Count++
		r.hosts[i].Last = now.UTC()
	}
	return fresh
}

func oldest(hosts []plugin.RefusedHost) (i int) {
	for j, h := range hosts {
		if h.Last.Before(hosts[i].Last) {
			i = j
		}
	}
	return i
}

// List returns the refused hosts, the latest first. A nil Refusals has none.
func (r *Refusals) List() []plugin.RefusedHost {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	out := slices.Clone(r.hosts)
	slices.SortStableFunc(out, func(a, b plugin.RefusedHost) int { return b.Last.Compare(a.Last) })
	return out
}

// Note returns what a model reads about the refusals of one call; the zero Text means
// that there were none.
func (r *Refusals) Note(list []egress.Refusal) tool.Text {
	if len(list) == 0 {
		return tool.Text{}
	}
	var named []egress.Refusal
	var names []string
	for _, one := range list {
		if len(one.Host) <= maxHostChars && len(named) < maxNamed && (len(named) == 0 || named[0].Private == one.Private) {
			named, names = append(named, one), append(names, one.Host)
		}
	}
	all := tool.Text{Format: strings.Join(names, ", ")}
	switch more := len(list) - len(named); {
	case len(named) == 0:
		return tool.Textf("weir refused requests of this tool to %d hosts with long names; weir plugin info %s shows them", more, r.plugin)
	case more > 0:
		all = tool.Textf("%s and %d more hosts", all.Format, more)
	}
	if named[0].Private {
		return tool.Textf("weir refused requests of this tool to %s: the address is that of this machine or of a private network. The operator can allow it: %s", all, r.Fix(named))
	}
	return tool.Textf("weir refused requests of this tool to %s, because the plugin %s is not granted that. The operator can grant it: %s", all, r.plugin, r.Fix(named))
}

// Fix returns what the operator does to allow hosts.
func (r *Refusals) Fix(list []egress.Refusal) tool.Text {
	var flags, elements []string
	asked := true
	for _, one := range list {
		element := strconv.Quote(one.Host)
		if one.Private {
			element = "{ host = " + element + ", private = true }"
		}
		flags, elements = append(flags, "--host "+one.Host), append(elements, element)
		asked = asked && r.asks(one.Host)
	}
	edit := "hosts = [" + strings.Join(elements, ", ") + "]"
	switch {
	case !asked:
		return tool.Textf("its plugin.toml must ask for it below [permissions]; then, %s", r.line(edit))
	case list[0].Private:
		return r.line(edit)
	}
	return tool.Textf("weir plugin approve %s %s, or %s", r.plugin, strings.Join(flags, " "), r.line(edit))
}

func (r *Refusals) line(edit string) tool.Text {
	return tool.Textf("in tools.toml, below [grants.%s], write: %s", r.plugin, tool.Text{Format: edit})
}
