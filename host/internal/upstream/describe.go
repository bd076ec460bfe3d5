package upstream

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/weirhost/weir/host/internal/mcpclient"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/schema"
	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// A Definition is one tool of a server as the host offers it.
type Definition struct {
	registry.Tool
	Effect  plugin.Effect
	AnyHost bool // it can reach hosts that no grant names
	// Identity is a digest of what an answer depends on besides the arguments.
	Identity string
}

// A Named is a tool of a server with the name under which the host offers it; empty: it cannot.
type Named struct {
	mcpclient.Tool
	As           string
	instructions string // of its server
}

// Describe returns the server's state in the form of a plugin, without its tools, and
// the tools that the settings allow.
func (s *Server) Describe() (plugin.Info, []Named) {
	st := s.Status()
	info := plugin.Info{
		Name: s.Settings.Name, Kind: plugin.KindServer, State: plugin.Ready, Source: "[mcpServers." + s.Settings.Name + "]",
		Trust: plugin.TrustGranted, Problems: st.Notes, Unpassed: st.Unpassed,
		Instructions: schema.Prose(st.Instructions),
	}
	switch st.State {
	case mcpclient.Starting:
		info.State, info.Why = plugin.Pending, tool.Textf("it has not answered yet")
	case mcpclient.Down:
		info.State, info.Why = plugin.Pending, tool.Textf("it is down: %v", st.Why)
		if len(s.Settings.Unset) > 0 { // it was not started
			info.Why = st.Why
		}
		if info.Fix = st.Fix; info.Fix.IsZero() {
			info.Fix = tool.Textf("check its command or url in tools.toml; weir tries again automatically")
		}
	}
	var allowed []Named
	for _, t := range s.named(st.Tools) {
		if s.Allows(t.Name) {
			t.instructions = info.Instructions
			allowed = append(allowed, t)
		}
	}
	return info, allowed
}

// Held returns a server that is not started before a person trusts it, in the form of a plugin.
func Held(name string) plugin.Info {
	return plugin.Info{
		Name: name, Kind: plugin.KindServer, State: plugin.Pending, Source: "[mcpServers." + name + "]", Trust: plugin.TrustAsk,
		Why: tool.Textf("it is not started: any program may have written tools.toml in this folder"), Fix: tool.Textf("read the file, then run: weir config trust"),
	}
}

// Failed reports whether the server cannot be reached.
func (s *Server) Failed() bool { return s.Status().State == mcpclient.Down }

// named returns tools with their names, which depend on all of them: one that is not allowed
// leaves its name to no other.
func (s *Server) named(all []mcpclient.Tool) []Named {
	names, out := make([]string, len(all)), make([]Named, len(all))
	for i, t := range all {
		names[i] = t.Name
	}
	for i, as := range registry.RemoteNames(s.Settings.Name, names) {
		out[i] = Named{Tool: all[i], As: as}
	}
	return out
}

// Named returns all tools of the server with their names, also those that are not allowed.
func (s *Server) Named() []Named { return s.named(s.Status().Tools) }

// Names returns the names of all tools of the server, also of those that are not allowed.
func (s *Server) Names() []string {
	var out []string
	for _, t := range s.named(s.Status().Tools) {
		out = append(out, t.As)
	}
	return out
}

// Define returns a tool as the host offers it, with what is wrong with it. ok is false
// if it cannot be offered. The hints of a server count only if the settings trust them.
// Its tools share the budgets, one for arguments and one for output.
func (s *Server) Define(t Named, budget, outputs *schema.Budget) (d Definition, problems []tool.Text, ok bool) {
	def, notes, ok := registry.RemoteTool(s.Settings.Name, t.As, t.Name, t.Title, t.Description, t.Schema, budget)
	if !ok {
		return d, notes, false
	}
	if len(t.OutputSchema) > 0 {
		var err error
		if def.Spec.OutputSchema, err = outputSchema(t.OutputSchema, outputs); err != nil {
			notes = append(notes, tool.Textf("the output schema of %s is left out: %s", def.Spec.Name, err))
		}
	}
	trust := s.Settings.TrustHints
	def.Spec.Hints = tool.Hints{ReadOnly: trust && t.ReadOnly, Idempotent: trust && t.Idempotent, Network: t.OpenWorld}
	def.Spec.Remote = s.remote(t, &notes)
	if t.MaxChars >= tool.MinMaxChars {
		def.Spec.Output.MaxChars = t.MaxChars
	}
	d = Definition{Tool: def, Effect: plugin.EffectNone, Identity: Identity(s, t.Tool)}
	switch {
	case !def.Spec.Hints.ReadOnly:
		d.Effect = plugin.EffectChanges
	case t.OpenWorld: // most tools that only read say nothing of what they reach: the operator trusts them
		d.Effect, d.AnyHost = plugin.EffectNetwork, t.SaysOpen
	}
	return d, notes, true
}

// remote returns what a server says of a tool for programs and people, with notes on what
// is left out.
func (s *Server) remote(t Named, notes *[]tool.Text) *tool.Remote {
	r := &tool.Remote{Server: s.Settings.Name, Title: text.OneLine(text.Clean(t.Title), maxTitle), Trusted: s.Settings.TrustHints, Instructions: t.instructions}
	for _, part := range []struct {
		name string
		said json.RawMessage
		to   *json.RawMessage
	}{{"annotations", t.Annotations, &r.Annotations}, {"_meta", t.Meta, &r.Meta}, {"execution", t.Execution, &r.Execution}, {"icons", t.Icons, &r.Icons}} {
		if len(part.said) == 0 {
			continue
		}
		clean, err := schema.TidyValue(part.said)
		if err != nil {
			*notes = append(*notes, tool.Textf("%s of %s is left out: %s", part.name, t.As, err))
			continue
		}
		*part.to = clean
	}
	if !r.Trusted && r.Annotations != nil {
		title := (&tool.Remote{Annotations: r.Annotations}).Name()
		if r.Annotations = nil; title != "" {
			r.Annotations, _ = json.Marshal(map[string]string{"title": title}) // a string has JSON
		}
	}
	return r
}

// maxTitle bounds the name of a tool for people, in characters.
const maxTitle = 300

// outputSchema returns an output schema for clients. It is compiled to bound it, and is
// not used here.
func outputSchema(raw json.RawMessage, budget *schema.Budget) (json.RawMessage, error) {
	text, err := schema.Tidy(raw)
	if err != nil {
		return nil, err
	}
	if _, err := budget.Compile(text); err != nil {
		return nil, err
	}
	return text, nil
}

// Conflict is the problem of a tool whose name another tool has already.
func Conflict(t Named, name string) tool.Text {
	return tool.Textf("its tool %q is left out: another tool is named %s", text.OneLine(t.Name, 80), name)
}

// JoinDigests returns one digest of several.
func JoinDigests(digests ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(digests, "\n")))
	return hex.EncodeToString(sum[:])
}
