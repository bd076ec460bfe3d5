// Package snapshot holds what a host runs: the plugins of its folders and the tools that
// can be called, those of other servers too. New builds a Snapshot of what the catalog
// decided and what the operator set. A Snapshot never changes; the host replaces it, and
// a call keeps the one with which it began.
//
// # Files
//
//   - snapshot: the set, and how it is built
//   - tool: one tool
package snapshot

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"golang.org/x/time/rate"

	"github.com/weirhost/weir/host/internal/bounds"
	"github.com/weirhost/weir/host/internal/catalog"
	"github.com/weirhost/weir/host/internal/changes"
	"github.com/weirhost/weir/host/internal/grant"
	"github.com/weirhost/weir/host/internal/jail"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/runner"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/host/internal/sched"
	"github.com/weirhost/weir/host/internal/schema"
	"github.com/weirhost/weir/host/internal/toolname"
	"github.com/weirhost/weir/host/internal/upstream"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// A Snapshot holds the plugins and their tools. Its fields must not be modified. The zero
// Snapshot is that before the first scan.
type Snapshot struct {
	Scan     *registry.Snapshot
	Revision string           // of the lock
	Plugins  []Plugin         // sorted by name
	Tools    map[string]*Tool // by name

	similar map[string]string // the tools' names by registry.Likeness
	names   []string          // of Tools, sorted
	modules map[runner.Key]*runner.Module
}

// A Plugin is a plugin with its modules.
type Plugin struct {
	Entry   *catalog.Entry // nil: invalid, or another server
	Info    plugin.Info    // without the states of Modules; see Infos
	Modules []*runner.Module

	granted string // its grant, in a form to compare
	refused *grant.Refusals
}

// Infos returns all plugins in their current states, in the order of Plugins.
func (s *Snapshot) Infos() []plugin.Info {
	out := make([]plugin.Info, 0, len(s.Plugins))
	for _, one := range s.Plugins {
		info := one.Info
		info.Refused = one.refused.List()
		for _, m := range one.Modules {
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

// Usable returns the tools whose modules were not refused, by name.
func (s *Snapshot) Usable() []*Tool {
	out := make([]*Tool, 0, len(s.names))
	for _, name := range s.names {
		if t := s.Tools[name]; t.Source.Refusal() == nil {
			out = append(out, t)
		}
	}
	return out
}

// LimitGroups returns the usable tools, grouped by the limit that decides for an agent
// with a limit of chars, the lowest first.
func (s *Snapshot) LimitGroups(chars int) []plugin.LimitGroup {
	var out []plugin.LimitGroup
	for _, t := range s.Usable() {
		d := t.limits.Decide(&t.Info, chars)
		g := plugin.LimitGroup{Chars: d.Chars, By: d.By, Next: d.Next, NextBy: d.NextBy}
		i := slices.IndexFunc(out, func(o plugin.LimitGroup) bool {
			return o.Chars == g.Chars && o.By == g.By && o.Next == g.Next && o.NextBy == g.NextBy
		})
		if i < 0 {
			out, i = append(out, g), len(out)
		}
		out[i].Tools = append(out[i].Tools, t.Info.Spec.Name)
	}
	slices.SortStableFunc(out, func(a, b plugin.LimitGroup) int { return cmp.Or(a.Chars-b.Chars, a.Next-b.Next) })
	return out
}

// MayRead reports whether a tool of that name may bring text of a granted folder into a
// conversation. A tool that no longer exists may have done so.
func (s *Snapshot) MayRead(name string) bool {
	switch name {
	case tool.RunScript, tool.LoadHistory, tool.SearchHistory, tool.DescribeTool, tool.FindTools, tool.CallTool: // they show what the conversation has already
		return false
	}
	t, found := s.Tools[name]
	return !found || t.ReadsFolders()
}

// Unknown returns the keys of the operator's settings for tools and of the grants that
// name no tool and no plugin.
func (s *Snapshot) Unknown(settings, grants iter.Seq[string]) []string {
	var tools, plugins, out []string
	for _, one := range s.Plugins {
		plugins = append(plugins, one.Info.Name)
		tools = append(append(tools, one.Info.Tools...), one.Info.Disabled...)
	}
	for name := range settings {
		if !slices.ContainsFunc(tools, func(t string) bool { return toolname.MatchDenied(name, s.Names(t)) }) {
			out = append(out, "tools."+name)
		}
	}
	for name := range grants {
		if !slices.Contains(plugins, name) {
			out = append(out, "grants."+name)
		}
	}
	slices.Sort(out)
	return out
}

// Changes returns what changed since old.
func (s *Snapshot) Changes(old *Snapshot) changes.Change {
	return changes.Between(old.states(), s.states())
}

// states returns the plugins for a comparison with another scan.
func (s *Snapshot) states() (out []changes.Plugin) {
	for i, info := range s.Infos() {
		review := ""
		if info.Pending != nil {
			review = info.Pending.Digest + info.Pending.Why.String()
		}
		text := fmt.Sprint(info.State, info.Digest, info.Why, review, s.Plugins[i].granted, info.Tools, info.Disabled)
		out = append(out, changes.Plugin{Source: info.Source, Name: info.Name, State: info.State, Text: text, Review: review})
	}
	return out
}

// Preload loads the modules that replace loaded ones of old.
func (s *Snapshot) Preload(ctx context.Context, old *Snapshot) {
	var replaced []*runner.Module
	for key, m := range s.modules {
		if old.modules[key] != m && old.loaded(key.Source) {
			replaced = append(replaced, m)
		}
	}
	runner.Preload(ctx, replaced)
}

// loaded reports whether a module of the plugin is loaded.
func (s *Snapshot) loaded(source string) bool {
	for key, m := range s.modules {
		if key.Source == source && m.Loaded() {
			return true
		}
	}
	return false
}

// Retire releases the modules that next does not use.
func (s *Snapshot) Retire(next *Snapshot) {
	for key, m := range s.modules {
		if next.modules[key] != m {
			m.Retire()
		}
	}
}

// A Config says under what the plugins of a Snapshot run. Only lists may be empty.
type Config struct {
	Limits *bounds.Layers
	// Settings returns the operator's settings for one tool.
	Settings func(toolname.Names) Settings
	// Resolver has the grants.
	Resolver grant.Resolver
	// Hidden are files and folders that no plugin can read, ReadOnly those that none can
	// change.
	Hidden, ReadOnly []string
	Engines          *runner.Engines
	Cache            *runner.Cache // of the modules
	Slots            *sched.Limiter
	Servers          []*upstream.Server
	Held             []string // servers that a person must trust first
	Taken            []string // names of tools besides those here
}

// Settings are the operator's settings for one tool, as in host.ToolConfig.
type Settings struct {
	Limits    tool.Limits
	Timed     string // the table of tools.toml that Limits.Timeout is of
	Config    map[string]any
	Disabled  bool
	PerMinute *int
	CacheTTL  *time.Duration
	Parallel  int
}

// New returns what runs under a Config and a decision about the scanned plugins. It
// takes modules, rate limiters and refused hosts from old.
func New(cfg Config, d *catalog.Decision, old *Snapshot) *Snapshot {
	b := builder{cfg, old, &Snapshot{
		Scan: d.Snapshot, Revision: d.Revision, Tools: map[string]*Tool{},
		similar: map[string]string{}, modules: map[runner.Key]*runner.Module{},
	}}
	for _, entry := range d.Entries { // first: of two plugins with one name, lookups find the one with an entry
		b.add(entry)
	}
	for _, r := range d.Refused {
		info := catalog.InvalidInfo(r)
		if cfg.Engines.Unlisted(r) != nil {
			info.State = plugin.Quarantined
		}
		b.show(info)
	}
	for _, pl := range d.Snapshot.Pending { // it was asked for its tools and has not answered yet
		b.show(plugin.Info{
			Name: pl.Manifest.Name, State: plugin.Pending, ABI: string(pl.ABI), Source: pl.Source, SHA256: pl.WasmSHA256, Trust: catalog.TrustOf(pl.Folder),
			Why: tool.Textf("it is being compiled and asked for its tools, which happens once"), Fix: tool.Textf("wait a little; its tools are then added automatically"),
		})
	}
	b.addUnsettled(d.Snapshot.InFlux)
	olds := map[string]int{} // tools, by the old forms of their names
	for name := range b.Tools {
		olds[toolname.Old(name)]++
	}
	for _, server := range cfg.Servers {
		for _, name := range server.Names() {
			olds[toolname.Old(name)]++
		}
	}
	owns := ownNamesOf(cfg.Servers, b.otherNames())
	for name, t := range b.Tools {
		t.names = toolname.Names{Name: name}
		if olds[toolname.Old(name)] == 1 {
			t.names.Alone = toolname.Old(name)
		}
	}
	for _, server := range cfg.Servers {
		b.addServer(server, olds, owns)
	}
	for _, name := range cfg.Held {
		b.show(upstream.Held(name))
	}
	slices.SortStableFunc(b.Plugins, func(p, q Plugin) int { return cmp.Compare(p.Info.Name, q.Info.Name) })
	b.names = slices.Sorted(maps.Keys(b.Tools))
	return b.Snapshot
}

// Names returns the names of a tool, by the one under which it is offered. One that is not
// there has no other.
func (s *Snapshot) Names(name string) toolname.Names {
	if t := s.Tools[name]; t != nil {
		return t.names
	}
	return toolname.Names{Name: name}
}

// otherNames returns the names of all tools that are no servers'. Those of plugins that cannot
// run now are among them: what is written of a plugin is not about a server while its files
// change.
func (b builder) otherNames() []string {
	out := slices.Concat([]string{tool.RunScript, tool.LoadHistory, tool.SearchHistory, tool.DescribeTool, tool.FindTools, tool.CallTool}, b.Taken)
	for _, p := range b.Plugins {
		out = slices.Concat(out, p.Info.Tools, p.Info.Disabled)
	}
	return out
}

// A builder builds a Snapshot in place of old.
type builder struct {
	Config
	old *Snapshot
	*Snapshot
}

// show adds a plugin that is only listed.
func (b builder) show(info plugin.Info) { b.Plugins = append(b.Plugins, Plugin{Info: info}) }

// add adds one plugin under the current settings.
func (b builder) add(entry *catalog.Entry) {
	pl := entry.Shown()
	m := pl.Manifest
	granted := b.Resolver.Grants[m.Name]
	permissions := b.Resolver.Resolve(m.Asks, granted)
	if pl.ABI != registry.ABIOwn {
		permissions.CheckHosts(granted.Hosts)
	}
	one := Plugin{Entry: entry, granted: fmt.Sprint(granted), Info: plugin.Info{
		Name: m.Name, Version: m.Version, Description: m.Description, State: plugin.Ready, ABI: string(pl.ABI),
		Source: pl.Source, SHA256: pl.WasmSHA256, Trust: catalog.TrustOf(pl.Folder), Asks: permissions.Asks,
	}}
	entry.FillInfo(&one.Info)
	for _, w := range pl.Warnings {
		one.Info.Problems = append(one.Info.Problems, tool.Text{Format: w.String()})
	}
	one.refused = b.refusals(pl, one)
	tools := b.newTools(pl, permissions, granted, &one.Info)
	conflict := b.conflict(tools)
	switch {
	case !conflict.IsZero() && entry.Plugin != nil:
		one.Info.State, one.Info.Why, one.Info.Fix = plugin.Invalid, conflict, tool.Textf("rename the tool, or remove one of the two plugins")
	case !conflict.IsZero() || entry.Blocked():
	case len(permissions.Missing) > 0:
		one.Info.State, one.Info.Why, one.Info.Fix = plugin.Pending, permissions.Why(), permissions.Fix(m.Name)
	default:
		b.bind(pl, permissions, tools, &one)
	}
	b.Plugins = append(b.Plugins, one)
}

// newTools returns the tools of a plugin with their limits and configuration, and notes
// their names in info.
func (b builder) newTools(pl *registry.Plugin, permissions *grant.Resolution, granted plugin.Grant, info *plugin.Info) []*Tool {
	var out []*Tool
	for _, def := range pl.Manifest.Tools {
		set := b.Settings(toolname.Names{Name: def.Spec.Name})
		if set.Disabled {
			info.Disabled = append(info.Disabled, def.Spec.Name)
			continue
		}
		info.Tools = append(info.Tools, def.Spec.Name)
		t := NewTool(b.Limits, def.Spec, pl.Manifest.Name, set.Limits, sandbox.DefaultMemoryOf(pl.IsGo))
		t.def = def
		if pl.ABI != registry.ABIOwn {
			t.ThirdParty, t.grant.Config = pl, grant.ThirdPartySettings(set.Config, granted.Config)
		} else {
			t.grant.Config = permissions.Settings(pl.Manifest, def.Spec.Name, set.Config, granted.Config)
		}
		out = append(out, t)
	}
	return out
}

// bind gives tools their permissions and modules, and makes them callable.
func (b builder) bind(pl *registry.Plugin, permissions *grant.Resolution, tools []*Tool, one *Plugin) {
	for i := range permissions.Permissions.Mounts {
		m := &permissions.Permissions.Mounts[i]
		m.Hide, m.Keep = jail.Everywhere(b.Hidden), jail.Everywhere(b.ReadOnly)
	}
	for _, t := range tools {
		t.grant.Mounts, t.grant.HTTP, t.reach = permissions.Permissions.Mounts, permissions.Permissions.HTTP, permissions.Hosts
		t.Refused = one.refused
		t.fixEffect(permissions.AnyHost)
		m := b.module(pl, t.Info.Effective.Memory)
		if t.Source = m; !slices.Contains(one.Modules, m) {
			one.Modules = append(one.Modules, m)
		}
		t.identity = t.digest(pl, permissions)
		b.similar[registry.Likeness(t.Info.Spec.Name)] = t.Info.Spec.Name
		b.offer(t, b.Settings(toolname.Names{Name: t.Info.Spec.Name}), b.Slots)
	}
}

// refusals returns the memory of the refused hosts of a plugin, that of old if the
// plugin and its grant are the same.
func (b builder) refusals(pl *registry.Plugin, one Plugin) *grant.Refusals {
	for _, p := range b.old.Plugins {
		if p.refused != nil && p.Info.Source == one.Info.Source && p.granted == one.granted && p.Info.Digest == one.Info.Digest {
			return p.refused
		}
	}
	return grant.RefusalsOf(pl)
}

// addUnsettled adds plugins whose files are still being written.
func (b builder) addUnsettled(list []registry.InFlux) {
	for _, one := range list {
		if !one.Serves {
			b.show(plugin.Info{
				Name: one.Name, State: plugin.Pending, Source: one.Source, Trust: catalog.TrustOf(one.Folder),
				Why: tool.Textf("its files are still being written"), Fix: tool.Textf("no action needed: weir scans again when the files stop changing"),
			})
			continue
		}
		for i := range b.Plugins {
			if info := &b.Plugins[i].Info; info.Source == one.Source {
				why := tool.Textf("its files are being written; the earlier version runs until then")
				if one.Asked {
					why = tool.Textf("its new version is asked for its tools; the earlier version runs until then")
				}
				info.Problems = append(info.Problems, why)
			}
		}
	}
}

// addServer adds an MCP server and its tools. olds has how many tools have each old form.
func (b builder) addServer(server *upstream.Server, olds map[string]int, owns ownNames) {
	info, tools := server.Describe()
	limits := *b.Limits // their timeout is made for guests
	limits.Defaults.Timeout = upstream.DefaultTimeout
	var budget, outputs schema.Budget
	for _, t := range tools {
		def, problems, ok := server.Define(t, &budget, &outputs)
		info.Problems = append(info.Problems, problems...)
		name := def.Spec.Name
		names := owns.of(t, olds)
		set := b.Settings(names)
		switch {
		case !ok:
			continue
		case b.Tools[name] != nil:
			info.Problems = append(info.Problems, upstream.Conflict(t, name))
			continue
		case set.Disabled:
			info.Disabled = append(info.Disabled, name)
			continue
		}
		source := upstream.Tool{Server: server, Timed: set.Timed}
		if set.Limits.Timeout == 0 {
			set.Limits.Timeout, source.Timed = server.Settings.Timeout, ""
		}
		added := NewTool(&limits, def.Spec, info.Name, set.Limits, 0)
		added.names = names
		added.def, added.Source, added.identity, added.Info.Effect, added.anyHost = def.Tool, source, def.Identity, def.Effect, def.AnyHost
		b.offer(added, set, server.Slots)
		if set.Parallel == 0 && server.Settings.Parallel != 0 {
			added.Info.ParallelBy = tool.LayerOperator
		}
		info.Tools = append(info.Tools, name)
		info.Digest = upstream.JoinDigests(info.Digest, added.identity)
	}
	b.show(info)
}

// module returns the module of a plugin, that of old if it is still valid.
func (b builder) module(pl *registry.Plugin, memory tool.Bytes) *runner.Module {
	key := runner.KeyOf(pl, memory)
	if m, ok := b.modules[key]; ok {
		return m
	}
	m, ok := b.old.modules[key]
	if !ok || !m.Serves(pl, b.Engines) {
		m = runner.NewModule(b.Engines, b.Cache, pl, memory)
	}
	b.modules[key] = m
	return m
}

// offer makes a tool callable. How often it may run, how long its answers are reused, and
// how many of its calls run at the same time, within slots, is as the operator says, else as it
// declares.
func (b builder) offer(t *Tool, set Settings, slots *sched.Limiter) {
	b.Tools[t.Info.Spec.Name] = t
	t.configs = map[tool.Locale]map[string]string{tool.En: t.configIn(tool.En), tool.Zh: t.configIn(tool.Zh)}
	if set.PerMinute != nil {
		t.def.PerMinute = *set.PerMinute
	}
	if set.CacheTTL != nil {
		t.def.TTL = *set.CacheTTL
	}
	t.Info.PerMinute, t.Info.CacheTTL = t.def.PerMinute, t.def.TTL
	t.Info.ParallelBy = bounds.LayerOf(set.Parallel > 0, set.Parallel == 0 && t.def.Parallel > 0)
	quota := slots.Quota(set.Parallel, t.def.Parallel)
	t.slot = slots.Slot(sched.Key{Plugin: t.Info.Plugin, Tool: t.Info.Spec.Name, Quota: quota})
	if quota < sched.Unbounded {
		t.Info.Parallel = quota
	}
	n := t.def.PerMinute
	if before := b.old.Tools[t.Info.Spec.Name]; before != nil && before.def.PerMinute == n {
		t.limiter = before.limiter // a reload does not reset the count
	} else if n > 0 {
		t.limiter = rate.NewLimiter(rate.Limit(float64(n)/60), n)
	}
}

// digest returns the tool's identity for the cache of answers.
func (t *Tool) digest(pl *registry.Plugin, permissions *grant.Resolution) string {
	l := t.Info.Effective
	text, err := json.Marshal([]any{
		pl.WasmSHA256, pl.ManifestSHA256, t.def.Export, t.def.Remote, l.MaxChars, l.MaxLines, t.grant.Config, t.grant.Mounts, permissions.Hosts, permissions.Asks,
	})
	if err != nil {
		return "" // no cache; these parts always encode
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// conflict returns which tool name of a plugin another plugin has already, or one that
// looks like it; the zero Text means none.
func (b builder) conflict(tools []*Tool) tool.Text {
	for _, t := range tools {
		if name, ok := b.similar[registry.Likeness(t.Info.Spec.Name)]; ok {
			return tool.Textf("the tool name %q belongs to the plugin %s already (as %s)", t.Info.Spec.Name, b.Tools[name].Info.Plugin, name)
		}
	}
	return tool.Text{}
}
