package host

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/time/rate"

	"github.com/weirhost/weir/host/internal/catalog"
	"github.com/weirhost/weir/host/internal/grant"
	"github.com/weirhost/weir/host/internal/jail"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/runner"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/host/internal/sched"
	"github.com/weirhost/weir/host/internal/schema"
	"github.com/weirhost/weir/host/internal/upstream"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// A snapshot holds what a Host runs: the plugins of the folders and the tools of other
// servers under one Config. It never changes; a reload replaces it.
type snapshot struct {
	scan    *registry.Snapshot
	plugins []pluginEntry // sorted by name
	tools   map[string]*boundTool
	similar map[string]string // the tools' names by registry.Likeness
	names   []string          // of tools, sorted
	modules map[runner.Key]*runner.Module
	lock    string // its revision
}

// A pluginEntry is a plugin with its modules.
type pluginEntry struct {
	entry   *catalog.Entry // nil: invalid, or another server
	info    plugin.Info
	modules []*runner.Module
	granted string // its grant, in a form to compare
	refused *grant.Refusals
}

// A boundTool is a tool that can be called: its manifest, limits and permissions.
type boundTool struct {
	info       plugin.ToolInfo
	by         limit.By
	ceiling    int               // the most characters of a result
	highlights *limit.Highlights // info.Effective.Keep
	def        registry.Tool
	abi        registry.ABI
	grant      sandbox.Grant
	// configs are the grant's in each language. They must not be modified.
	configs map[tool.Locale]map[string]string
	reach   []string // the hosts that the grant's HTTP leads to
	refused *grant.Refusals
	module  *runner.Module // nil: another server's tool
	source  source         // the module, or the server
	// effect is what the tool can do; anyHost: it can reach hosts that no grant names.
	effect  plugin.Effect
	anyHost bool
	// identity is a digest of everything but the arguments on which an answer
	// depends.
	identity string
	limiter  *rate.Limiter // nil: no limit
	slot     *sched.Slot   // for the guests of its calls
}

// A source provides the Runner of a tool: a runner.Module or an upstream.Tool.
type source interface {
	// Acquire returns the Runner for one call, after which the caller must call Release.
	Acquire(ctx context.Context) (runner.Runner, error)
	Release()
	// Refusal returns why there will never be a Runner; nil: there may be one.
	Refusal() error
}

func (h *Host) revision() string { return h.current.Load().lock }

// newTool returns a tool with its effective limits and no permissions yet. guest is
// the default memory of its guest; 0: it has none.
func (h *Host) newTool(spec tool.Spec, plugin string, guest tool.Bytes) *boundTool {
	set := h.settings.Load()
	t := &boundTool{info: set.effectiveLimits(spec, plugin, guest), highlights: set.highlights, ceiling: set.ceiling()}
	t.by = limit.By{Chars: t.info.CharsBy, Lines: t.info.LinesBy}
	if a, b := t.info.Effective.Keep, set.Defaults.Keep; !slices.Equal(a, b) || (a == nil) != (b == nil) {
		t.highlights = limit.CompileHighlights(t.info.Effective.Keep)
	}
	return t
}

// newSnapshot returns what runs under the settings, the lock file and a decision about
// the scanned plugins. It takes modules and rate limiters from old; old may be nil.
func (h *Host) newSnapshot(d *catalog.Decision, old *snapshot) *snapshot {
	s := &snapshot{scan: d.Snapshot, lock: d.Revision, tools: map[string]*boundTool{}, similar: map[string]string{}, modules: map[runner.Key]*runner.Module{}}
	for _, r := range d.Refused {
		info := catalog.InvalidInfo(r)
		if h.unlisted(r) != nil {
			info.State = plugin.Quarantined
		}
		s.plugins = append(s.plugins, pluginEntry{info: info})
	}
	for _, entry := range d.Entries {
		s.add(h, entry, old)
	}
	for _, pl := range d.Snapshot.Pending {
		s.plugins = append(s.plugins, pluginEntry{info: pendingInfo(pl)})
	}
	s.addUnsettled(d.Snapshot.InFlux)
	for _, server := range h.servers.Servers() {
		s.addServer(h, server, old)
	}
	// Of two plugins with one name, lookups find the one with an entry.
	slices.SortStableFunc(s.plugins, func(a, b pluginEntry) int {
		return cmp.Or(cmp.Compare(a.info.Name, b.info.Name), withoutEntry(a)-withoutEntry(b))
	})
	s.names = slices.Sorted(maps.Keys(s.tools))
	return s
}

func withoutEntry(p pluginEntry) int {
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

// add adds one plugin under the current settings.
func (s *snapshot) add(h *Host, entry *catalog.Entry, old *snapshot) {
	pl := entry.Shown()
	m := pl.Manifest
	granted := h.grants()[m.Name]
	permissions := h.resolver().Resolve(m.Asks, granted)
	if pl.ABI != registry.ABIOwn {
		permissions.CheckHosts(granted.Hosts)
	}
	one := pluginEntry{entry: entry, granted: fmt.Sprint(granted), info: plugin.Info{
		Name: m.Name, Version: m.Version, Description: m.Description, State: plugin.Ready, ABI: string(pl.ABI),
		Source: pl.Source, SHA256: pl.WasmSHA256, Trust: catalog.TrustOf(pl.Folder), Asks: permissions.Asks,
	}}
	entry.FillInfo(&one.info)
	for _, w := range pl.Warnings {
		one.info.Problems = append(one.info.Problems, tool.Text{Format: w.String()})
	}
	one.refused = refusals(pl, one, old)
	tools := h.newTools(pl, permissions, granted, &one.info)
	conflict := s.conflict(tools)
	switch {
	case !conflict.IsZero() && entry.Plugin != nil:
		one.info.State, one.info.Why, one.info.Fix = plugin.Invalid, conflict, tool.Textf("rename the tool, or remove one of the two plugins")
	case !conflict.IsZero() || entry.Blocked():
	case len(permissions.Missing) > 0:
		one.info.State, one.info.Why, one.info.Fix = plugin.Pending, permissions.Why(), permissions.Fix(m.Name)
	default:
		s.bind(h, pl, permissions, tools, &one, old)
	}
	s.plugins = append(s.plugins, one)
}

// newTools returns the tools of a plugin with their limits and configuration, and notes
// their names in info.
func (h *Host) newTools(pl *registry.Plugin, permissions *grant.Resolution, granted plugin.Grant, info *plugin.Info) []*boundTool {
	var out []*boundTool
	for _, def := range pl.Manifest.Tools {
		cfg := h.settings.Load().Tools[def.Spec.Name]
		if cfg.Disabled {
			info.Disabled = append(info.Disabled, def.Spec.Name)
			continue
		}
		info.Tools = append(info.Tools, def.Spec.Name)
		t := h.newTool(def.Spec, pl.Manifest.Name, sandbox.DefaultMemoryOf(pl.IsGo))
		t.def = def
		if t.abi = pl.ABI; t.abi != registry.ABIOwn {
			t.grant.Config = grant.ThirdPartySettings(cfg.Config, granted.Config)
		} else {
			t.grant.Config = permissions.Settings(pl.Manifest, def.Spec.Name, cfg.Config, granted.Config)
		}
		out = append(out, t)
	}
	return out
}

// bind gives tools their permissions and modules, and makes them callable.
func (s *snapshot) bind(h *Host, pl *registry.Plugin, permissions *grant.Resolution, tools []*boundTool, one *pluginEntry, old *snapshot) {
	for i := range permissions.Permissions.Mounts {
		m := &permissions.Permissions.Mounts[i]
		m.Hide, m.Keep = jail.Everywhere(h.cfg.Hidden), jail.Everywhere(h.protectedPaths())
	}
	for _, t := range tools {
		t.grant.Mounts, t.grant.HTTP, t.reach = permissions.Permissions.Mounts, permissions.Permissions.HTTP, permissions.Hosts
		t.configs = map[tool.Locale]map[string]string{tool.En: t.configIn(tool.En), tool.Zh: t.configIn(tool.Zh)}
		t.refused = one.refused
		t.fixEffect(permissions.AnyHost)
		t.module = s.module(h, pl, t.info.Effective.Memory, old)
		t.source = t.module
		if !slices.Contains(one.modules, t.module) {
			one.modules = append(one.modules, t.module)
		}
		t.identity = t.digest(pl, permissions)
		h.setRates(t)
		t.limiter = limiter(t.def.PerMinute, t.info.Spec.Name, old)
		s.tools[t.info.Spec.Name], s.similar[registry.Likeness(t.info.Spec.Name)] = t, t.info.Spec.Name
	}
}

// refusals returns the memory of the refused hosts of a plugin, that of old if the
// plugin and its grant are the same.
func refusals(pl *registry.Plugin, one pluginEntry, old *snapshot) *grant.Refusals {
	if old != nil {
		i := slices.IndexFunc(old.plugins, func(p pluginEntry) bool { return p.refused != nil && p.info.Source == one.info.Source })
		if i >= 0 && old.plugins[i].granted == one.granted && old.plugins[i].info.Digest == one.info.Digest {
			return old.plugins[i].refused
		}
	}
	return grant.RefusalsOf(pl)
}

// addUnsettled adds plugins whose files are still being written.
func (s *snapshot) addUnsettled(list []registry.InFlux) {
	for _, one := range list {
		if !one.Serves {
			s.plugins = append(s.plugins, pluginEntry{info: plugin.Info{
				Name: one.Name, State: plugin.Pending, Source: one.Source, Trust: catalog.TrustOf(one.Folder),
				Why: tool.Textf("its files are still being written"), Fix: tool.Textf("no action needed: weir scans again when the files stop changing"),
			}})
			continue
		}
		for i := range s.plugins {
			if info := &s.plugins[i].info; info.Source == one.Source {
				why := tool.Textf("its files are being written; the earlier version runs until then")
				if one.Asked {
					why = tool.Textf("its new version is asked for its tools; the earlier version runs until then")
				}
				info.Problems = append(info.Problems, why)
			}
		}
	}
}

// addServer adds an MCP server and its tools.
func (s *snapshot) addServer(h *Host, server *upstream.Server, old *snapshot) {
	info, tools := server.Describe()
	var budget, outputs schema.Budget
	for _, t := range tools {
		def, problems, ok := server.Define(t, &budget, &outputs)
		info.Problems = append(info.Problems, problems...)
		name := def.Spec.Name
		switch {
		case !ok:
			continue
		case s.tools[name] != nil:
			info.Problems = append(info.Problems, upstream.Conflict(t, name))
			continue
		case h.settings.Load().Tools[name].Disabled:
			info.Disabled = append(info.Disabled, name)
			continue
		}
		b := h.newTool(def.Spec, info.Name, 0)
		b.def, b.source, b.identity, b.effect, b.anyHost = def.Tool, upstream.Tool{Server: server}, def.Identity, def.Effect, def.AnyHost
		b.info.Effect = b.effect
		h.setRates(b)
		b.limiter = limiter(b.def.PerMinute, name, old)
		s.tools[name] = b
		info.Tools = append(info.Tools, name)
		info.Digest = upstream.JoinDigests(info.Digest, b.identity)
	}
	s.plugins = append(s.plugins, pluginEntry{info: info})
}

// module returns the module of a plugin, that of old if it is still valid.
func (s *snapshot) module(h *Host, pl *registry.Plugin, memory tool.Bytes, old *snapshot) *runner.Module {
	key := runner.KeyOf(pl, memory)
	if m, ok := s.modules[key]; ok {
		return m
	}
	engines := h.engines.Load()
	if old != nil {
		if m, ok := old.modules[key]; ok && m.Serves(pl, engines) {
			s.modules[key] = m
			return m
		}
	}
	m := runner.NewModule(engines, h.modules, pl, memory)
	s.modules[key] = m
	return m
}

// setRates sets how often a tool may run, how long its answers are reused, and how many
// of its guests run at the same time: as the operator says, else as it declares.
func (h *Host) setRates(t *boundTool) {
	set := h.settings.Load().Tools[t.info.Spec.Name]
	if set.PerMinute != nil {
		t.def.PerMinute = *set.PerMinute
	}
	if set.CacheTTL != nil {
		t.def.TTL = *set.CacheTTL
	}
	operator := set.Parallel
	t.info.PerMinute, t.info.CacheTTL = t.def.PerMinute, t.def.TTL
	t.info.ParallelBy = layer(operator > 0, operator == 0 && t.def.Parallel > 0)
	t.info.Parallel = h.running.Quota(operator, t.def.Parallel)
	t.slot = h.running.Slot(sched.Key{Plugin: t.info.Plugin, Tool: t.info.Spec.Name, Quota: t.info.Parallel})
}

// limiter returns the rate limiter of a tool; nil: no limit. It is that of old if the
// rate is the same: a reload does not reset the count.
func limiter(perMinute int, name string, old *snapshot) *rate.Limiter {
	if perMinute <= 0 {
		return nil
	}
	if old != nil {
		if t, ok := old.tools[name]; ok && t.limiter != nil && t.def.PerMinute == perMinute {
			return t.limiter
		}
	}
	return rate.NewLimiter(rate.Limit(float64(perMinute)/60), perMinute)
}

// digest returns the tool's identity for the cache of answers.
func (t *boundTool) digest(pl *registry.Plugin, permissions *grant.Resolution) string {
	l := t.info.Effective
	text, err := json.Marshal([]any{
		pl.WasmSHA256, pl.ManifestSHA256, t.def.Export, t.def.Remote, l.MaxChars, l.MaxLines, t.grant.Config, t.grant.Mounts, permissions.Hosts, permissions.Asks,
	})
	if err != nil {
		return "" // no cache; these parts always encode
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// unknown returns the keys of the settings' tables that name no plugin and no tool.
func (s *snapshot) unknown(set Settings) []string {
	var tools, plugins, out []string
	for _, one := range s.plugins {
		plugins = append(plugins, one.info.Name)
		tools = append(append(tools, one.info.Tools...), one.info.Disabled...)
	}
	for name := range set.Tools {
		if !slices.Contains(tools, name) {
			out = append(out, "tools."+name)
		}
	}
	for name := range set.Grants {
		if !slices.Contains(plugins, name) {
			out = append(out, "grants."+name)
		}
	}
	slices.Sort(out)
	return out
}

// infos returns all plugins in their current states.
func (s *snapshot) infos() []plugin.Info {
	out := make([]plugin.Info, 0, len(s.plugins))
	for _, one := range s.plugins {
		info := one.info
		info.Refused = one.refused.List()
		for _, m := range one.modules {
			info.Loaded = info.Loaded || m.Loaded()
			if err := m.Refusal(); err != nil {
				info.State, info.Why, info.Fix = runner.DescribeRefusal(m.Plugin().Manifest.Name, m.Plugin().WasmPath, err)
				info.Problems = append(slices.Clone(info.Problems), info.Why)
				break
			}
		}
		out = append(out, info)
	}
	return out
}

// usable returns the tools whose modules were not refused, by name.
func (s *snapshot) usable() []*boundTool {
	out := make([]*boundTool, 0, len(s.names))
	for _, name := range s.names {
		if t := s.tools[name]; t.source.Refusal() == nil {
			out = append(out, t)
		}
	}
	return out
}

// conflict returns which tool name of a plugin another plugin has already, or one that
// looks like it; the zero Text means none.
func (s *snapshot) conflict(tools []*boundTool) tool.Text {
	for _, t := range tools {
		if name, ok := s.similar[registry.Likeness(t.info.Spec.Name)]; ok {
			return tool.Textf("the tool name %q belongs to the plugin %s already (as %s)", t.info.Spec.Name, s.tools[name].info.Plugin, name)
		}
	}
	return tool.Text{}
}

// loaded reports whether a module of the plugin is loaded.
func (s *snapshot) loaded(source string) bool {
	for key, m := range s.modules {
		if key.Source == source && m.Loaded() {
			return true
		}
	}
	return false
}

// retire releases the modules that next does not use; next may be nil.
func (s *snapshot) retire(next *snapshot) {
	if s == nil {
		return
	}
	for key, m := range s.modules {
		if next == nil || next.modules[key] != m {
			m.Retire()
		}
	}
}
