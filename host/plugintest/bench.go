package plugintest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// A bench is a host with one plugin and a world that changes from call to call.
// It is not safe for concurrent use.
type bench struct {
	host        *host.Host
	settings    host.Settings // of every world
	asks        registry.Asks
	own         bool   // the plugin uses weir's own ABI
	name        string // the plugin's
	tools       []string
	temp        string
	calls       int
	clockOffset atomic.Int64 // offset of the host's clock, in nanoseconds
	net         atomic.Pointer[network]
	secret      atomic.Pointer[map[string]string]
}

// openBench opens a host on a folder that contains only the plugin.
func openBench(ctx context.Context, path string, p *registry.Plugin, cfg Config) (b *bench, err error) {
	b = &bench{asks: p.Manifest.Asks, own: p.ABI == registry.ABIOwn}
	if b.temp, err = os.MkdirTemp("", "weir-test-"); err != nil {
		return nil, msg.Errorf("no place for the files of the cases: %w", err)
	}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	plugins := filepath.Join(b.temp, "plugins")
	if err := Alone(path, plugins); err != nil {
		return nil, err
	}
	hc := host.Config{
		Settings: host.Settings{
			Folders: []plugin.Folder{{Path: plugins, Trust: plugin.TrustGranted}},
			// The author of a case decides as the operator would: no approvals.
			Approvals: approval.Policy{Default: approval.Allow, Network: approval.Allow},
		},
		CacheDir:      cfg.CacheDir,
		WorkerCommand: cfg.WorkerCommand,
		Logger:        cfg.Logger,
		Version:       cfg.Version,
		Transport:     b,
		Secret:        b.find,
		Now:           func() time.Time { return time.Now().Add(time.Duration(b.clockOffset.Load())) },
	}
	b.settings = hc.Settings
	if b.host, err = host.Open(ctx, hc); err != nil {
		return nil, err
	}
	for _, info := range b.host.Plugins() {
		b.name = info.Name
	}
	folder, err := b.empty()
	if err != nil {
		return nil, err
	}
	if err = b.grant(ctx, world{}, folder); err != nil {
		return nil, err
	}
	for _, info := range b.host.Plugins() {
		b.tools = info.Tools
	}
	return b, nil
}

// Alone creates folder and puts only the plugin at path into it, with a link if
// the system allows links to all users. path is a plugin's folder, its manifest,
// or a single .wasm.
func Alone(path, folder string) error {
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(abs)
	if err != nil {
		return err
	}
	packed := strings.HasSuffix(abs, ".wasm") && !info.IsDir()
	to := filepath.Join(folder, filepath.Base(abs)) // the name of a third-party plugin comes from its file
	if !packed {
		to = filepath.Join(folder, "plugin") // a scan would ignore some names
		if !info.IsDir() {
			abs = filepath.Dir(abs)
		}
	}
	if os.Symlink(abs, to) == nil {
		return nil
	}
	if !packed {
		return os.CopyFS(to, os.DirFS(abs))
	}
	data, err := os.ReadFile(abs)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o644)
}

// warm compiles the module, to keep the compilation out of the measured times. It
// ignores an error: every case then reports it.
func (b *bench) warm(ctx context.Context) {
	b.host.Warm(ctx, func(string, time.Duration, error) {})
}

func (b *bench) close() {
	if b.host != nil {
		_ = b.host.Close() // the host has no state worth an error
	}
	_ = os.RemoveAll(b.temp)
}

// RoundTrip passes a request to the network of the current case.
func (b *bench) RoundTrip(r *http.Request) (*http.Response, error) {
	if n := b.net.Load(); n != nil {
		return n.RoundTrip(r)
	}
	return nil, errors.New("nobody is there")
}

// find returns a secret of the current case. A secret that the case does not set
// has a default value that contains its name.
func (b *bench) find(name string) (string, bool) {
	if m := b.secret.Load(); m != nil {
		if v, ok := (*m)[name]; ok {
			return v, true
		}
	}
	return "secret-of-" + name, true
}

// unusable returns why a valid plugin cannot be called, or "" if it can.
func (b *bench) unusable() tool.Text {
	for _, info := range b.host.Plugins() {
		if info.State != plugin.Ready {
			if info.Fix.IsZero() {
				return tool.Textf("%s cannot be called: %v", info.Name, info.Why)
			}
			return tool.Textf("%s cannot be called: %v; %v", info.Name, info.Why, info.Fix)
		}
	}
	if len(b.tools) == 0 {
		return tool.Textf("the plugin has no tool that can be called")
	}
	return tool.Text{}
}

// leap is how far the clock advances between two worlds. It exceeds the lifetime
// of a cached answer and the window of any rate limit.
const leap = 31 * 24 * time.Hour

// enter makes a world current. folder contains its files; it is empty if the
// plugin asks for no folder. With Problems, do not make the call.
func (b *bench) enter(ctx context.Context, name string, w world, net *network) (folder string, problems []Problem, err error) {
	b.clockOffset.Add(int64(leap))
	b.calls++
	folder, problems, err = b.place(w)
	if err != nil || len(problems) > 0 {
		return "", problems, err
	}
	secrets := w.secrets
	b.secret.Store(&secrets)
	b.net.Store(net)
	if err := b.grant(ctx, w, folder, name); err != nil {
		if ctx.Err() != nil {
			return "", nil, ctx.Err()
		}
		return "", []Problem{{Msg: msg.Of(err)}}, nil
	}
	for _, info := range b.host.Plugins() {
		if info.State != plugin.Ready {
			return "", []Problem{{Msg: tool.Textf("the tool cannot be called: %v", info.Why)}}, nil
		}
	}
	return folder, nil, nil
}

// grant returns the permissions that the plugin asks for, limited by the world.
func (b *bench) grant(ctx context.Context, w world, folder string, tools ...string) error {
	var g plugin.Grant
	for _, p := range b.asks.Paths {
		mode := "ro"
		if p.Write {
			mode = "rw"
		}
		g.Paths = append(g.Paths, plugin.PathGrant{Guest: p.Guest, Host: b.under(folder, p.Guest), Mode: mode})
	}
	for _, h := range b.asks.Hosts {
		if w.hosts == nil {
			g.Hosts = append(g.Hosts, plugin.HostGrant{Host: h.Rule.String(), Private: true})
		}
	}
	for _, h := range w.hosts {
		g.Hosts = append(g.Hosts, plugin.HostGrant{Host: h, Private: true})
	}
	for _, s := range b.asks.Secrets {
		g.Secrets = append(g.Secrets, s.Name)
	}
	if !b.own {
		g.Config = w.config
	}
	settings := b.settings
	settings.Grants, settings.Tools = map[string]plugin.Grant{b.name: g}, map[string]host.ToolConfig{}
	for _, name := range tools {
		c := host.ToolConfig{Limits: w.operator}
		if b.own {
			c.Config = w.config
		}
		settings.Tools[name] = c
	}
	_, err := b.host.Apply(ctx, settings)
	return err
}

// under returns the folder for one path ask of the plugin: the world's own folder
// if there is one ask, else a folder in it for each.
func (b *bench) under(folder, guest string) string {
	if len(b.asks.Paths) < 2 {
		return folder
	}
	return filepath.Join(folder, filepath.FromSlash(strings.Trim(guest, "/")))
}

// place writes the world's files.
func (b *bench) place(w world) (folder string, problems []Problem, err error) {
	if len(b.asks.Paths) == 0 {
		for name, c := range w.files {
			p := c.at
			p.Msg, p.Fix = tool.Textf("the file %s cannot be seen: the plugin asks for no folder", name), tool.Textf("ask for one below [permissions] of the manifest, or take the files out")
			problems = append(problems, p)
		}
		return "", problems, nil
	}
	if folder, err = b.empty(); err != nil {
		return "", nil, err
	}
	if w.folder != "" {
		if err := os.CopyFS(b.under(folder, b.asks.Paths[0].Guest), os.DirFS(w.folder)); err != nil {
			return "", []Problem{{Msg: tool.Textf("the folder %s cannot be copied: %s", w.folder, err)}}, nil
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.files)) {
		c := w.files[name]
		at, ok := b.file(folder, name)
		if !ok {
			p := c.at
			p.Msg, p.Fix = tool.Textf("the file %q lies in no folder that the plugin asks for", name), b.fileHint()
			problems = append(problems, p)
			continue
		}
		if err := write(at, c.data); err != nil {
			p := c.at
			p.Msg = tool.Textf("the file %q cannot be made: %s", name, err)
			problems = append(problems, p)
		}
	}
	return folder, problems, nil
}

// write creates a file and its parent folders. Its errors omit the path, which is
// temporary and means nothing to the author.
func write(at string, data []byte) error {
	err := os.MkdirAll(filepath.Dir(at), 0o755)
	if err == nil {
		err = os.WriteFile(at, data, 0o644)
	}
	return msg.Reason(err)
}

// empty removes the files of the previous case, but not the folder: the plugin's
// process has it open, and a new process would cost time.
func (b *bench) empty() (folder string, err error) {
	folder = filepath.Join(b.temp, "files")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	for _, a := range b.asks.Paths {
		dir := b.under(folder, a.Guest)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return "", err
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			return "", err
		}
		for _, e := range entries {
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				return "", err
			}
		}
	}
	return folder, nil
}

// file returns the real path of a file of a case. A relative name is in the
// plugin's only folder; an absolute one is a path as the tool sees it.
func (b *bench) file(folder, name string) (string, bool) {
	if !path.IsAbs(name) {
		if len(b.asks.Paths) > 1 || !filepath.IsLocal(filepath.FromSlash(name)) {
			return "", false
		}
		return filepath.Join(folder, filepath.FromSlash(name)), true
	}
	for _, a := range b.asks.Paths {
		if rest, ok := strings.CutPrefix(path.Clean(name), strings.TrimSuffix(a.Guest, "/")+"/"); ok {
			return filepath.Join(b.under(folder, a.Guest), filepath.FromSlash(rest)), true
		}
	}
	return "", false
}

func (b *bench) fileHint() tool.Text {
	var guests []string
	for _, a := range b.asks.Paths {
		guests = append(guests, a.Guest)
	}
	if len(guests) == 1 {
		return tool.Textf("give its path within the folder, or as the tool sees it, below %s", guests[0])
	}
	return tool.Textf("give its path as the tool sees it, below %s", join(guests))
}

// call makes one call in the current world.
func (b *bench) call(ctx context.Context, name string, args json.RawMessage, l tool.Locale) (tool.Result, error) {
	s := b.host.Session("test", fmt.Sprintf("call-%d", b.calls)).In(localeOf(l))
	return s.Call(ctx, tool.Call{ID: "call_001", Tool: name, Args: args})
}
