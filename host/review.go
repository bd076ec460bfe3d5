package host

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/weirhost/weir/host/internal/lockfile"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// Review scans the folders and tells everything about one plugin.
func (h *Host) Review(ctx context.Context, name string) (plugin.Review, error) {
	if err := h.Reload(ctx); err != nil {
		return plugin.Review{}, err
	}
	h.reloading.Lock() // a plan's manifests may be filled in by the next scan
	defer h.reloading.Unlock()
	p := h.current.Load()
	infos := p.infos()
	i := slices.IndexFunc(infos, func(info plugin.Info) bool { return info.Name == name })
	if i < 0 {
		return plugin.Review{}, h.unknown(p.snap, name)
	}
	r := plugin.Review{Plugin: infos[i]}
	s := p.plugins[i].seat
	if s == nil {
		r.History = h.history(name)
		return r, nil
	}
	if s.plugin != nil {
		r.Serving = h.version(s.plugin)
		r.Serving.Source = r.Plugin.Source
	}
	if s.offered != nil {
		r.Pending = h.version(s.offered)
	}
	if r.Serving != nil && r.Pending != nil {
		r.Changes = differences(s.plugin, s.offered)
		if r.Serving.Source != r.Pending.Source {
			r.Changes = append(r.Changes, plugin.Difference{Kind: "source", Was: r.Serving.Source, Is: r.Pending.Source})
		}
	}
	r.History = h.history(name)
	return r, nil
}

// unknown is the error about a name that no plugin has; one that the lock
// alone knows lies in no folder any more.
func (h *Host) unknown(snap *registry.Snapshot, name string) error {
	lock := &lockfile.Lock{}
	if h.book != nil {
		if l, err := h.book.Load(); err == nil {
			lock = l
		}
	}
	if lock.Plugins[name] != nil {
		return gone(name)
	}
	return missing(snap, lock, name)
}

// history is what the lock remembers of a plugin.
func (h *Host) history(name string) []plugin.ApprovedVersion {
	if h.book == nil {
		return nil
	}
	lock, err := h.book.Load()
	if err != nil || lock.Plugins[name] == nil {
		return nil
	}
	var out []plugin.ApprovedVersion
	e := lock.Plugins[name]
	for _, v := range e.History {
		a := plugin.ApprovedVersion{
			Approval: plugin.Approval{By: v.By, At: v.At, RolledBack: e.RolledBack && v.Digest == e.Digest}, Version: v.Version, Digest: v.Digest,
			Source: v.Source, Current: v.Digest == e.Digest, HasCopy: v.Copy != "",
		}
		for _, p := range v.Powers {
			a.Powers = append(a.Powers, plugin.Ask(p))
		}
		out = append(out, a)
	}
	return out
}

// version tells what a plugin's bytes declare.
func (h *Host) version(pl *registry.Plugin) *plugin.Version {
	m := pl.Manifest
	grants := h.grants()
	deal := h.cfg.strike(m.Asks, grants[m.Name])
	v := &plugin.Version{
		Version: m.Version, Digest: pl.Digest(), WasmSHA256: pl.WasmSHA256, WasmBytes: pl.WasmBytes, ManifestSHA256: pl.ManifestSHA256,
		Source: pl.Source, File: pl.WasmPath, Asks: deal.asks, SuggestedEdits: deal.edits,
	}
	for _, def := range m.Tools {
		v.Tools = append(v.Tools, h.live.Load().ladder(def.Spec, m.Name))
	}
	return v
}

// A fact is one thing that a version declares.
type fact struct {
	kind, name, value, reason string
	wider                     func(before registry.Asks) bool // of a power
}

// differences lists what b changes of a.
func differences(a, b *registry.Plugin) []plugin.Difference {
	was, is := factsOf(a), factsOf(b)
	find := func(list []fact, f fact) *fact {
		if i := slices.IndexFunc(list, func(o fact) bool { return o.kind == f.kind && o.name == f.name }); i >= 0 {
			return &list[i]
		}
		return nil
	}
	var out []plugin.Difference
	for _, f := range is {
		old := find(was, f)
		if old != nil && old.value == f.value && old.reason == f.reason {
			continue
		}
		c := plugin.Difference{Kind: f.kind, Name: f.name, Is: f.value, Reason: f.reason}
		if old != nil {
			c.Was = old.value
		}
		c.Exceeds = f.wider != nil && f.wider(a.Manifest.Asks)
		out = append(out, c)
	}
	for _, f := range was {
		if find(is, f) == nil {
			out = append(out, plugin.Difference{Kind: f.kind, Name: f.name, Was: f.value})
		}
	}
	return out
}

// factsOf lists what a version declares, powers first: they matter most.
func factsOf(p *registry.Plugin) []fact {
	m := p.Manifest
	out := powersOf(m.Asks)
	out = append(out, fact{kind: "version", value: orUnnamed(m.Version)}, fact{kind: "module", value: p.WasmSHA256},
		fact{kind: "manifest", value: p.ManifestSHA256}, fact{kind: "description", value: m.Description})
	for _, s := range m.Settings {
		out = append(out, fact{kind: "setting", name: s.Name, value: fmt.Sprintf("%s, default %v: %s", s.Type, s.Default, s.Description)})
	}
	for _, t := range m.Tools {
		name := t.Spec.Name
		out = append(out,
			fact{kind: "tool", name: name, value: strings.TrimSpace(t.Spec.Description + "\n" + t.Spec.DescriptionZh)},
			fact{kind: "schema", name: name, value: indented(t.Spec.Params)},
			fact{kind: "limits", name: name, value: limitsText(t.Spec.Output)},
			fact{kind: "conduct", name: name, value: conduct(t)})
		if len(t.Spec.Examples) > 0 {
			text, _ := json.Marshal(t.Spec.Examples)
			out = append(out, fact{kind: "examples", name: name, value: indented(text)})
		}
	}
	return out
}

func powersOf(asks registry.Asks) []fact {
	var out []fact
	for _, a := range asks.Paths {
		mode := "read only"
		if a.Write {
			mode = "read and write"
		}
		out = append(out, fact{"power", "folder " + a.Guest, mode, a.Reason, func(b registry.Asks) bool { return !pathAsked(a, b.Paths) }})
	}
	for _, a := range asks.Hosts {
		out = append(out, fact{"power", "host " + a.Rule.String(), "send and receive", a.Reason, func(b registry.Asks) bool { return !hostAsked(a, b.Hosts) }})
	}
	for _, a := range asks.Secrets {
		out = append(out, fact{"power", "secret " + a.Name, fmt.Sprintf("sent to %s in the header %s as %s", a.Host, a.Header, a.Format), a.Reason,
			func(b registry.Asks) bool { return !secretAsked(a, b.Secrets) }})
	}
	return out
}

// limitsText says what a tool declares of its limits.
func limitsText(l tool.Limits) string {
	var parts []string
	add := func(yes bool, format string, args ...any) {
		if yes {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(l.MaxChars > 0, "%d characters", l.MaxChars)
	add(l.MaxLines > 0, "%d lines", l.MaxLines)
	add(l.Strategy != "", "%s", l.Strategy)
	add(l.Head+l.Tail > 0, "head %g, tail %g", l.Head, l.Tail)
	add(len(l.Keep) > 0, "keeps %s", strings.Join(l.Keep, " "))
	add(l.Archive != "", "archive %s", l.Archive)
	add(l.Timeout > 0, "timeout %s", l.Timeout)
	add(l.Memory > 0, "memory %s", l.Memory)
	if len(parts) == 0 {
		return "none declared"
	}
	return strings.Join(parts, ", ")
}

// conduct says how a tool is run and what it claims of itself.
func conduct(t registry.Tool) string {
	parts := []string{"runs " + t.Export, "answers in " + string(t.Format)}
	for _, c := range []struct {
		yes  bool
		text string
	}{
		{t.EmptyOK, "may answer nothing"}, {t.Fresh, "in a new instance each time"}, {t.TTL > 0, "cached for " + t.TTL.String()}, {t.PerMinute > 0, fmt.Sprintf("%d calls a minute", t.PerMinute)},
		{t.Spec.Hints.ReadOnly, "says it changes nothing"}, {t.Spec.Hints.Idempotent, "says it may be repeated"}, {t.Spec.Hints.Network, "says it uses the network"},
	} {
		if c.yes {
			parts = append(parts, c.text)
		}
	}
	return strings.Join(parts, ", ")
}

func indented(text json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, text, "", "  ") != nil {
		return string(text)
	}
	return b.String()
}
