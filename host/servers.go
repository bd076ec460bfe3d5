package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/weirhost/weir/host/internal/answer"
	"github.com/weirhost/weir/host/internal/mcpclient"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/runner"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// server is a Server with its connection, which is closed when the operator has
// taken it away and no call uses it any more.
type server struct {
	plugin.Server
	client *mcpclient.Server
	closed func() // told behind that

	mu   sync.Mutex
	uses int
	gone bool
}

// enter begins a use; false: the server has been taken away.
func (s *server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		return false
	}
	s.uses++
	return true
}

func (s *server) leave(n int) {
	s.mu.Lock()
	s.uses -= n
	last := s.gone && s.uses == 0
	s.mu.Unlock()
	if last {
		go func() {
			s.client.Close()
			s.closed()
		}()
	}
}

// retire takes the server away.
func (s *server) retire() {
	s.mu.Lock()
	s.gone = true
	s.mu.Unlock()
	s.leave(0)
}

// openServers begins to connect to all of them.
func (h *Host) openServers() {
	h.news = make(chan struct{}, 1)
	h.exchangeServers(h.live.Load().Servers)()
	h.calls.Add(1)
	go h.followServers()
}

// exchangeServers connects to the servers that are new or different. Those that
// are the same stay; retire, which is to be called behind the next plan, takes
// the others away.
func (h *Host) exchangeServers(wanted []plugin.Server) (retire func()) {
	old := h.serverList()
	var next []*server
	for _, s := range wanted {
		i := slices.IndexFunc(old, func(o *server) bool { return reflect.DeepEqual(o.Server, s) })
		if i >= 0 {
			next, old = append(next, old[i]), slices.Delete(slices.Clone(old), i, i+1)
			continue
		}
		next = append(next, h.openServer(s))
	}
	h.servers.Store(&next)
	return func() {
		for _, s := range old {
			s.retire()
		}
	}
}

func (h *Host) openServer(s plugin.Server) *server {
	h.leaving.Add(1)
	return &server{Server: s, closed: h.leaving.Done, client: mcpclient.Open(mcpclient.Config{
		Name: s.Name, Command: s.Command, Args: s.Args, Env: s.Env, Dir: s.Dir, URL: s.URL, Headers: s.Headers,
		Start: s.Start, Version: h.cfg.Version, Logger: h.log.Named("mcp"),
		Changed: func() {
			select {
			case h.news <- struct{}{}:
			default: // a new plan is due already
			}
		},
	})}
}

// serverList are the servers in force.
func (h *Host) serverList() []*server {
	if list := h.servers.Load(); list != nil {
		return *list
	}
	return nil
}

// followServers makes a new plan whenever a server's tools have changed.
func (h *Host) followServers() {
	defer h.calls.Done()
	for {
		select {
		case <-h.news:
			if h.Reload(h.ending) != nil {
				return
			}
		case <-h.ending.Done():
			return
		}
	}
}

// WaitServers waits until every MCP server has answered or failed for the first
// time, or ctx ends: their tools are not there before.
func (h *Host) WaitServers(ctx context.Context) error {
	all := h.serverList()
	for _, s := range all {
		s.client.Wait(ctx)
	}
	if len(all) == 0 || ctx.Err() != nil {
		return ctx.Err()
	}
	return h.Reload(ctx)
}

// closeServers ends every connection, all at once.
func (h *Host) closeServers() {
	for _, s := range h.serverList() {
		s.retire()
	}
}

// addServers brings the servers' tools into a plan.
func (p *plan) addServers(h *Host) {
	for _, s := range h.serverList() {
		st := s.client.Status()
		one := planned{info: plugin.Info{
			Name: s.Name, Kind: plugin.KindServer, State: plugin.Ready, Source: "[mcpServers." + s.Name + "]", Trust: plugin.TrustGranted, Problems: st.Notes,
		}}
		switch st.State {
		case mcpclient.Starting:
			one.info.State, one.info.Why = plugin.Pending, "it has not answered yet"
		case mcpclient.Down:
			one.info.State, one.info.Why, one.info.Fix = plugin.Pending, "it cannot be reached: "+st.Why, "check its command or url in tools.toml; it is tried again by itself"
		}
		for _, t := range st.Tools {
			if !s.allows(t.Name) {
				continue
			}
			p.addTool(h, s, t, &one)
		}
		p.plugins = append(p.plugins, one)
	}
}

// allows reports whether the operator wants a tool.
func (s *server) allows(name string) bool {
	// To path.Match a slash is no letter. A tool's name is no path: it is one here.
	plain := func(text string) string { return strings.ReplaceAll(text, "/", "\x00") }
	fits := func(patterns []string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool { ok, err := path.Match(plain(p), plain(name)); return ok && err == nil })
	}
	return !fits(s.Deny) && (len(s.Allow) == 0 || fits(s.Allow))
}

// addTool makes one of a server's tools callable, and notes what is wrong with it.
func (p *plan) addTool(h *Host, s *server, t mcpclient.Tool, one *planned) {
	def, notes, ok := registry.StrangersTool(s.Name, t.Name, t.Title, t.Description, t.Schema)
	one.info.Problems = append(one.info.Problems, notes...)
	if !ok {
		return
	}
	name := def.Spec.Name
	if p.tools[name] != nil {
		one.info.Problems = append(one.info.Problems, fmt.Sprintf("its tool %q is left out: another tool is named %s", text.OneLine(t.Name, 80), name))
		return
	}
	if h.live.Load().Tools[name].Disabled {
		one.info.Disabled = append(one.info.Disabled, name)
		return
	}
	def.Spec.Hints = tool.Hints{ReadOnly: s.TrustHints && t.ReadOnly, Idempotent: s.TrustHints && t.Idempotent, Network: t.OpenWorld}
	if t.MaxChars >= tool.MinMaxChars {
		def.Spec.Output.MaxChars = t.MaxChars
	}
	b := h.limited(def.Spec, s.Name)
	b.def, b.source, b.identity = def, serverTool{s}, serverIdentity(s.Server, t)
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

// serverIdentity is a digest of what a tool is: where it runs and how it
// describes itself. Leave that was given for one holds for no other.
func serverIdentity(s plugin.Server, t mcpclient.Tool) string {
	text, err := json.Marshal([]any{s.Name, s.Command, s.Args, s.Dir, s.URL, t})
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// serverTool answers calls by asking the server.
type serverTool struct{ server *server }

// A source is where the Runner of a tool comes from.
type source interface {
	// Acquire returns the Runner for one call; after it the caller must call Release.
	Acquire(ctx context.Context) (runner.Runner, error)
	Release()
	// Refusal returns why there will never be one; nil: there may be.
	Refusal() error
}

func (s serverTool) Acquire(context.Context) (runner.Runner, error) {
	if !s.server.enter() {
		return nil, runner.ErrRetired
	}
	return s, nil
}

func (s serverTool) Release()       { s.server.leave(1) }
func (s serverTool) Refusal() error { return nil }

// Weight implements runner: what it takes is not ours.
func (s serverTool) Weight() tool.Bytes { return 0 }

// Close implements runner; the connection outlives every plan.
func (s serverTool) Close(context.Context) error { return nil }

// Call implements runner.
func (s serverTool) Call(ctx context.Context, inv sandbox.Invocation) (sandbox.Output, *tool.Error) {
	if !inv.Slot.Acquire(ctx, nil) {
		return sandbox.Output{NoSlot: true}, tool.Errorf(tool.Cancelled, "", "the call was cancelled")
	}
	defer inv.Slot.Release()
	limited, cancel := context.WithTimeout(ctx, inv.Timeout)
	defer cancel()
	raw, err := s.server.client.Call(limited, inv.Export, inv.Input, answer.MaxMCP, inv.Progress)
	if err == nil {
		return sandbox.Output{Bytes: raw}, nil
	}
	var refusal *mcpclient.Refusal
	var down *mcpclient.DownError
	var unusable *mcpclient.UnusableError
	switch {
	case ctx.Err() != nil:
		return sandbox.Output{}, tool.Errorf(tool.Cancelled, "", "the call was cancelled")
	case errors.Is(err, context.DeadlineExceeded):
		return sandbox.Output{}, tool.Errorf(tool.TimedOut, "ask for less at once, or narrow the arguments", "%s did not answer within %s", inv.Export, inv.Timeout)
	case errors.Is(err, mcpclient.ErrTooLarge):
		return sandbox.Output{}, tool.Errorf(tool.TooLarge, "ask for less at once, or narrow the arguments", "%s produced more than %s of text", inv.Export, tool.Bytes(tool.MaxWhole))
	case errors.As(err, &refusal):
		return sandbox.Output{}, tool.Errorf(tool.Failed, "", "%s", text.OneLine(refusal.Msg, maxErrorChars))
	case errors.As(err, &down):
		return sandbox.Output{}, tool.Errorf(tool.Failed, "use another tool, or try again later", "%s", text.OneLine(down.Error(), maxErrorChars))
	case errors.As(err, &unusable):
		return sandbox.Output{}, tool.Errorf(tool.Failed, "try other arguments, or another tool", "%s", unusable)
	}
	return sandbox.Output{}, tool.Errorf(tool.Failed, "try again", "the call came to nothing")
}

// maxErrorChars bounds what a server's failure says.
const maxErrorChars = 500
