package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/weirhost/weir/host/internal/mcpclient"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/runner"
	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/host/internal/upstream"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// A source is where the Runner of a tool comes from: a runner.Module or an
// upstream.Tool.
type source interface {
	// Acquire returns the Runner for one call; after it the caller must call Release.
	Acquire(ctx context.Context) (runner.Runner, error)
	Release()
	// Refusal returns why there will never be one; nil: there may be.
	Refusal() error
}

// openServers starts to connect to the MCP servers.
func (h *Host) openServers() {
	h.servers = upstream.NewSet(h.cfg.Version, h.log.Named("mcp"))
	h.servers.Replace(h.live.Load().Servers)
	h.calls.Add(1)
	go h.followServers()
}

// followServers reloads when a server's tools have changed.
func (h *Host) followServers() {
	defer h.calls.Done()
	for {
		select {
		case <-h.servers.Changed():
			if h.Reload(h.ending) != nil {
				return
			}
		case <-h.ending.Done():
			return
		}
	}
}

// WaitServers waits until every MCP server has answered or failed for the first time,
// or ctx ends. Their tools are unknown before.
func (h *Host) WaitServers(ctx context.Context) error {
	h.servers.Wait(ctx)
	if len(h.servers.Servers()) == 0 || ctx.Err() != nil {
		return ctx.Err()
	}
	return h.Reload(ctx)
}

// addServers brings the servers' tools into a plan.
func (p *plan) addServers(h *Host) {
	for _, s := range h.servers.Servers() {
		st := s.Status()
		one := planned{info: plugin.Info{
			Name: s.Settings.Name, Kind: plugin.KindServer, State: plugin.Ready, Source: "[mcpServers." + s.Settings.Name + "]", Trust: plugin.TrustGranted, Problems: plain(st.Notes),
		}}
		switch st.State {
		case mcpclient.Starting:
			one.info.State, one.info.Why = plugin.Pending, tool.Textf("it has not answered yet")
		case mcpclient.Down:
			one.info.State, one.info.Why, one.info.Fix = plugin.Pending, tool.Textf("it cannot be reached: %s", st.Why), tool.Textf("check its command or url in tools.toml; weir tries again automatically")
		}
		for _, t := range st.Tools {
			if !s.Allows(t.Name) {
				continue
			}
			p.addTool(h, s, t, &one)
		}
		p.plugins = append(p.plugins, one)
	}
}

// plain returns sentences that have one language as Texts.
func plain(sentences []string) []tool.Text {
	out := make([]tool.Text, len(sentences))
	for i, s := range sentences {
		out[i] = tool.Text{Format: s}
	}
	return out
}

// addTool makes one of a server's tools callable, and notes what is wrong with it.
func (p *plan) addTool(h *Host, s *upstream.Server, t mcpclient.Tool, one *planned) {
	def, notes, ok := registry.StrangersTool(s.Settings.Name, t.Name, t.Title, t.Description, t.Schema)
	one.info.Problems = append(one.info.Problems, plain(notes)...)
	if !ok {
		return
	}
	name := def.Spec.Name
	if p.tools[name] != nil {
		one.info.Problems = append(one.info.Problems, tool.Textf("its tool %q is left out: another tool is named %s", text.OneLine(t.Name, 80), name))
		return
	}
	if h.live.Load().Tools[name].Disabled {
		one.info.Disabled = append(one.info.Disabled, name)
		return
	}
	def.Spec.Hints = tool.Hints{ReadOnly: s.Settings.TrustHints && t.ReadOnly, Idempotent: s.Settings.TrustHints && t.Idempotent, Network: t.OpenWorld}
	if t.MaxChars >= tool.MinMaxChars {
		def.Spec.Output.MaxChars = t.MaxChars
	}
	b := h.newTool(def.Spec, s.Settings.Name)
	b.def, b.source, b.identity = def, upstream.Tool{Server: s}, upstream.Identity(s, t)
	h.pace(b)
	switch {
	case !def.Spec.Hints.ReadOnly:
		b.effect = plugin.EffectChanges
	case t.OpenWorld:
		b.effect, b.anyHost = plugin.EffectNetwork, true
	default:
		b.effect = plugin.EffectNone
	}
	b.info.Effect = b.effect
	p.tools[name] = b
	one.info.Tools = append(one.info.Tools, name)
	one.info.Digest = join(one.info.Digest, b.identity)
}

// join makes one digest of several.
func join(digests ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(digests, "\n")))
	return hex.EncodeToString(sum[:])
}
