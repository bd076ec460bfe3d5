package host

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/time/rate"

	"github.com/weirhost/weir/host/internal/catalog"
	"github.com/weirhost/weir/host/internal/grant"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/runner"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/host/internal/sched"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// A snapshot is what a Host runs: the plugins of the folders and the tools of other
// servers under one Config. It never changes; a reload puts another in its place.
type snapshot struct {
	snap    *registry.Snapshot
	plugins []planned // sorted by name
	tools   map[string]*bound
	alike   map[string]string // their names by what they are easily taken for
	names   []string          // of tools, sorted
	modules map[runner.Key]*runner.Module
}

// Names of before, until every file has the new ones.
type (
	plan  = snapshot
	bound = boundTool
)

// planned is a plugin with its modules.
type planned struct {
	entry   *catalog.Entry // nil: invalid, or another server
	info    plugin.Info
	modules []*runner.Module
	given   string // what it is granted, in a form to compare
}

// A boundTool is a tool that can be called: its manifest, limits and permissions.
type boundTool struct {
	info       plugin.ToolInfo
	by         limit.By
	highlights *limit.Highlights // info.Effective.Keep
	def        registry.Tool
	abi        registry.ABI
	grant      sandbox.Grant
	// configs are the grant's for each language; nobody writes to them.
	configs map[tool.Locale]map[string]string
	reach   []string       // the hosts that the grant's HTTP leads to
	module  *runner.Module // nil: another server's tool
	source  source         // the module, or the server
	// effect is what the tool can do, anyHost that it may reach hosts which
	// nobody named.
	effect  plugin.Effect
	anyHost bool
	// identity is a digest of everything but the arguments that an answer
	// depends on.
	identity string
	limiter  *rate.Limiter // nil: no limit
	slot     *sched.Slot   // for the guests of its calls
}

// newTool returns a tool with its effective limits and no permissions yet.
func (h *Host) newTool(spec tool.Spec, plugin string) *bound {
	set := h.live.Load()
	b := &bound{info: set.ladder(spec, plugin), highlights: set.keep}
	b.by = limit.By{Chars: b.info.CharsBy, Lines: b.info.LinesBy}
	if !slices.Equal(b.info.Effective.Keep, set.Defaults.Keep) {
		b.highlights = limit.CompileHighlights(b.info.Effective.Keep)
	}
	return b
}

// plan makes what a snapshot comes to under the Config and the lock.
func (h *Host) plan(d *catalog.Decision, old *plan) *plan {
	p := &plan{snap: d.Snapshot, tools: map[string]*bound{}, alike: map[string]string{}, modules: map[runner.Key]*runner.Module{}}
	for _, r := range d.Refused {
		info := catalog.InvalidInfo(r)
		if h.untried(r) != nil {
			info.State = plugin.Quarantined
		}
		p.plugins = append(p.plugins, planned{info: info})
	}
	for _, one := range d.Entries {
		p.add(h, one, old)
	}
	for _, pl := range d.Snapshot.Pending {
		p.plugins = append(p.plugins, planned{info: pendingInfo(pl)})
	}
	p.addHeld(d.Snapshot.Held)
	p.addServers(h)
	// Of two with one name, that which has a seat comes first, and is found.
	slices.SortStableFunc(p.plugins, func(a, b planned) int {
		return cmp.Or(cmp.Compare(a.info.Name, b.info.Name), withoutEntry(a)-withoutEntry(b))
	})
	p.names = slices.Sorted(maps.Keys(p.tools))
	return p
}

func withoutEntry(p planned) int {
	if p.entry == nil {
		return 1
	}
	return 0
}

// pendingInfo describes a plugin that was asked for its tools and has not answered yet.
func pendingInfo(pl *registry.Plugin) plugin.Info {
	return plugin.Info{
		Name: pl.Manifest.Name, State: plugin.Pending, ABI: string(pl.ABI), Source: pl.Source, SHA256: pl.WasmSHA256, Trust: catalog.TrustOf(pl.Folder),
		Why: tool.Textf("it is being compiled and asked for its tools, which happens once"), Fix: tool.Textf("wait a little; its tools are then added automatically"),
	}
}

// add brings one plugin together with the Config.
func (p *plan) add(h *Host, s *catalog.Entry, old *plan) {
	pl := s.Shown()
	m := pl.Manifest
	deal := grant.Resolver{Secret: h.cfg.Secret, Transport: h.cfg.Transport}.Resolve(m.Asks, h.grants()[m.Name])
	if pl.ABI != registry.ABIOwn {
		deal.CheckHosts(h.grants()[m.Name].Hosts)
	}
	one := planned{entry: s, given: fmt.Sprint(h.grants()[m.Name]), info: plugin.Info{
		Name: m.Name, Version: m.Version, Description: m.Description, State: plugin.Ready, ABI: string(pl.ABI),
		Source: pl.Source, SHA256: pl.WasmSHA256, Trust: catalog.TrustOf(pl.Folder), Asks: deal.Asks,
	}}
	s.FillInfo(&one.info)
	for _, w := range pl.Warnings {
		one.info.Problems = append(one.info.Problems, tool.Text{Format: w.String()})
	}
	var ready []*bound
	for _, def := range m.Tools {
		cfg := h.live.Load().Tools[def.Spec.Name]
		if cfg.Disabled {
			one.info.Disabled = append(one.info.Disabled, def.Spec.Name)
			continue
		}
		one.info.Tools = append(one.info.Tools, def.Spec.Name)
		b := h.newTool(def.Spec, m.Name)
		b.def = def
		if b.abi = pl.ABI; b.abi != registry.ABIOwn {
			b.grant.Config = grant.ThirdPartySettings(cfg.Config, h.grants()[m.Name].Config)
		} else {
			b.grant.Config = deal.Settings(m, def.Spec.Name, cfg.Config, h.grants()[m.Name].Config)
		}
		ready = append(ready, b)
	}
	if taken := p.taken(ready); s.Blocked() || !taken.IsZero() {
		if !taken.IsZero() && s.Plugin != nil {
			one.info.State, one.info.Why, one.info.Fix = plugin.Invalid, taken, tool.Textf("rename the tool, or remove one of the two plugins")
		}
		p.plugins = append(p.plugins, one)
		return
	}
	if len(deal.Missing) > 0 {
		one.info.State, one.info.Why, one.info.Fix = plugin.Pending, deal.Why(), deal.Fix(m.Name)
		p.plugins = append(p.plugins, one)
		return
	}
	for i := range deal.Permissions.Mounts {
		deal.Permissions.Mounts[i].Hide, deal.Permissions.Mounts[i].Keep = h.cfg.Hidden, h.kept()
	}
	for _, b := range ready {
		b.grant.Mounts, b.grant.HTTP, b.reach = deal.Permissions.Mounts, deal.Permissions.HTTP, deal.Hosts
		b.configs = map[tool.Locale]map[string]string{tool.En: b.configIn(tool.En), tool.Zh: b.configIn(tool.Zh)}
		b.fixEffect(deal.AnyHost)
		b.module = p.module(h, pl, b.info.Effective.Memory, old)
		b.source = b.module
		if !slices.Contains(one.modules, b.module) {
			one.modules = append(one.modules, b.module)
		}
		b.identity = b.digest(pl, deal)
		h.pace(b)
		b.limiter = limiter(b.def.PerMinute, b.info.Spec.Name, old)
		p.tools[b.info.Spec.Name], p.alike[registry.Likeness(b.info.Spec.Name)] = b, b.info.Spec.Name
	}
	p.plugins = append(p.plugins, one)
}

// module returns the module of a plugin, that of the old plan if it still serves.
func (p *plan) module(h *Host, pl *registry.Plugin, memory tool.Bytes, old *plan) *runner.Module {
	key := runner.KeyOf(pl, memory)
	if m, ok := p.modules[key]; ok {
		return m
	}
	engines := h.engines.Load()
	if old != nil {
		if m, ok := old.modules[key]; ok && m.Serves(pl, engines) {
			p.modules[key] = m
			return m
		}
	}
	m := runner.NewModule(engines, h.modules, pl, memory)
	p.modules[key] = m
	return m
}

// pace fills in how often a tool runs, and how many at once.
func (h *Host) pace(b *bound) {
	operator := h.live.Load().Tools[b.info.Spec.Name].Parallel
	b.info.PerMinute, b.info.CacheTTL = b.def.PerMinute, b.def.TTL
	b.info.ParallelBy = layer(operator > 0, operator == 0 && b.def.Parallel > 0)
	b.info.Parallel = h.running.Quota(operator, b.def.Parallel)
	b.slot = h.running.Slot(sched.Key{Plugin: b.info.Plugin, Tool: b.info.Spec.Name, Quota: b.info.Parallel})
}

// limiter returns the limiter of a tool, that of the old plan if its rate is the
// same, so that a reload gives no new calls away.
func limiter(perMinute int, name string, old *plan) *rate.Limiter {
	if perMinute <= 0 {
		return nil
	}
	if old != nil {
		if b, ok := old.tools[name]; ok && b.limiter != nil && b.def.PerMinute == perMinute {
			return b.limiter
		}
	}
	return rate.NewLimiter(rate.Limit(float64(perMinute)/60), perMinute)
}

// digest is the tool's identity for the cache.
func (b *bound) digest(pl *registry.Plugin, deal *grant.Resolution) string {
	l := b.info.Effective
	text, err := json.Marshal([]any{
		pl.WasmSHA256, pl.ManifestSHA256, b.def.Export, b.def.Remote, l.MaxChars, l.MaxLines, b.grant.Config, b.grant.Mounts, deal.Hosts, deal.Asks,
	})
	if err != nil {
		return "" // no cache: the parts above are plain data, which always encode
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// unknown lists the keys of the Config's tables that fit no plugin and no tool:
// they may be misspelt.
func (p *plan) unknown(cfg Live) []string {
	var tools, plugins, out []string
	for _, one := range p.plugins {
		plugins = append(plugins, one.info.Name)
		tools = append(append(tools, one.info.Tools...), one.info.Disabled...)
	}
	for name := range cfg.Tools {
		if !slices.Contains(tools, name) {
			out = append(out, "tools."+name)
		}
	}
	for name := range cfg.Grants {
		if !slices.Contains(plugins, name) {
			out = append(out, "grants."+name)
		}
	}
	slices.Sort(out)
	return out
}

// infos are the plugins with what is known of them by now.
func (p *plan) infos() []plugin.Info {
	out := make([]plugin.Info, 0, len(p.plugins))
	for _, one := range p.plugins {
		info := one.info
		for _, m := range one.modules {
			info.Loaded = info.Loaded || m.Loaded()
			if err := m.Refusal(); err != nil {
				info.State, info.Why, info.Fix = refusedBy(m.Plugin().Manifest.Name, m.Plugin().WasmPath, err)
				info.Problems = append(slices.Clone(info.Problems), info.Why)
				break
			}
		}
		out = append(out, info)
	}
	return out
}

// usable are the tools whose modules were not refused, by name.
func (p *plan) usable() []*bound {
	out := make([]*bound, 0, len(p.names))
	for _, name := range p.names {
		if b := p.tools[name]; b.source.Refusal() == nil {
			out = append(out, b)
		}
	}
	return out
}

// taken returns which tool name of a plugin another plugin has already, or one that
// looks like it; the zero Text means none.
func (p *plan) taken(ready []*bound) tool.Text {
	for _, b := range ready {
		if name, ok := p.alike[registry.Likeness(b.info.Spec.Name)]; ok {
			return tool.Textf("the tool name %q belongs to the plugin %s already (as %s)", b.info.Spec.Name, p.tools[name].info.Plugin, name)
		}
	}
	return tool.Text{}
}
