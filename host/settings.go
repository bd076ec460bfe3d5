package host

import (
	"cmp"
	"context"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/bounds"
	"github.com/weirhost/weir/host/internal/grant"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/runner"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/host/internal/sched"
	"github.com/weirhost/weir/host/internal/snapshot"
	"github.com/weirhost/weir/host/internal/toolfind"
	"github.com/weirhost/weir/host/internal/toolname"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// Settings are the part of a Config that can change while the Host runs; see Apply.
type Settings struct {
	// Folders are scanned in order. Of two plugins with conflicting names the one
	// found first is used.
	Folders []plugin.Folder
	// Servers are other MCP servers, whose tools are offered next to the plugins'.
	Servers []plugin.Server
	// Held are the names of servers that are not started before a person trusts them. They are
	// listed only.
	Held []string
	// Taken are names of tools besides those of plugins and servers, which no server's own name
	// of a tool replaces.
	Taken []string
	// Defaults apply to what neither a tool nor the operator sets. Zero fields mean
	// tool.DefaultMaxChars, tool.DefaultMaxLines, head_tail and DefaultTimeout.
	Defaults tool.Limits
	// CeilingChars caps every limit, in characters. load_tool_history is exempt. 0:
	// tool.DefaultCeiling; negative is an error.
	CeilingChars int
	// Tools holds the operator's settings by the name of the tool, or by a pattern of names,
	// in the syntax of path.Match. Of each setting the name's own table counts, then the
	// pattern with the most letters beside the wildcards, then by the alphabet.
	Tools map[string]ToolConfig
	// Grants holds the permissions of each plugin, by its name. A plugin gets what
	// it both asks for and is granted.
	Grants map[string]plugin.Grant
	// Reserved are absolute paths of what decides over plugins, such as the data
	// folder, the configuration and the plugin folders. A grant of a writable folder
	// that contains one of them is refused. They need not exist.
	Reserved []string
	// Approvals say which calls run without asking a person. The zero value asks
	// about every call that can change something.
	Approvals approval.Policy
	// Archive says where whole results are stored, for how long, and who sees them.
	// If its Path is empty they are in a temporary file that Close removes. Path,
	// Logger and Now cannot change while the Host runs.
	Archive archive.Config
	// Sandbox says how plugins run.
	Sandbox Sandbox
	// Loaded bounds the estimated memory of idle plugins, including idle worker
	// processes; the least recently used are unloaded first and loaded again at
	// their next call. The one used last stays. 0: 512 MiB; negative: no bound.
	Loaded tool.Bytes
	// Parallel bounds the guests that run at the same time; one plugin can use a
	// quarter of them, at least 2. Calls of other MCP servers do not count. Short calls that queue for one process count as
	// one guest. 0 or negative: 4 for each CPU, at least 16; inline 2 for each CPU,
	// at least 4.
	Parallel int
	// Summarise shortens results of tools with the strategy "summarize" with a
	// model. If nil, they are cut by head_tail. A Summary that comes with an error
	// holds the cost of the attempt.
	Summarise func(ctx context.Context, r SummaryRequest) (Summary, error)
	// SummariseOver is the length, in characters, over which Summarise is called. 0
	// or negative: DefaultSummariseOver.
	SummariseOver int
	// Embed returns a vector for each text and the name of the model that made them.
	// The vectors of archived results are stored in the background, and searched by
	// meaning. If nil, results are found by words.
	Embed func(ctx context.Context, texts []string) (vectors [][]float32, model string, err error)
	// Brief writes the summary of a placeholder with a model, in the background. If
	// nil, it is an extract. BriefOver is the length, in characters, of the results
	// that get one.
	Brief     func(ctx context.Context, r SummaryRequest) (Summary, error)
	BriefOver int
	// ToolSearch names the models that help to find tools. The zero value needs none.
	ToolSearch ToolSearch
}

// ToolSearch names the models that help to find tools.
type ToolSearch = toolfind.Config

// Defaults of Settings. Those of limits are in package tool.
const (
	// DefaultTimeout is how long a call may run.
	DefaultTimeout = 30 * time.Second
	// DefaultSummariseOver is the default of SummariseOver, in characters.
	DefaultSummariseOver = 20000
)

// Sandbox says how plugins run. The zero Sandbox works.
type Sandbox = runner.Sandbox

// Workers tunes the worker processes, in which plugins run. The zero Workers works.
type Workers = runner.Workers

// Isolation says where plugins run.
type Isolation = runner.Isolation

// A plugin runs in a worker process, which is killed at its deadline and harms no
// other plugin, or inside the host's process.
const (
	OwnProcess = runner.OwnProcess
	Inline     = runner.Inline
)

// Engines that run plugins: wazero itself, and Extism's Go SDK, the reference with
// which tests compare it.
const (
	EngineWazero = sandbox.EngineWazero
	EngineExtism = sandbox.EngineExtism
)

// activeSettings are Settings in compiled form. They never change; Apply replaces them.
type activeSettings struct {
	Settings
	rules    *approval.Rules
	limits   *bounds.Layers
	patterns []string // the names of Tools that are patterns, those of more letters first
}

// Check reports the first setting that is invalid.
func (s Settings) Check() error {
	_, err := s.compile()
	return err
}

// compile reports the first invalid setting, with its key.
func (s Settings) compile() (*activeSettings, error) {
	for _, f := range s.Folders {
		if f.Trust != "" && f.Trust != plugin.TrustAsk && f.Trust != plugin.TrustGranted {
			return nil, msg.Errorf("the trust of the folder %s is %q; it can be %s or %s", f.Path, f.Trust, plugin.TrustAsk, plugin.TrustGranted)
		}
	}
	if s.CeilingChars < 0 || s.CeilingChars > 0 && s.CeilingChars < tool.MinMaxChars {
		return nil, msg.Errorf("the ceiling of %d characters is too low; at least %d are needed, 0 means %d", s.CeilingChars, tool.MinMaxChars, tool.DefaultCeiling)
	}
	if err := bounds.Check(s.Defaults); err != nil {
		return nil, msg.Errorf("the default limits: %w", err)
	}
	patterns, err := checkTools(s.Tools)
	if err != nil {
		return nil, err
	}
	for _, server := range s.Servers {
		if server.Timeout < 0 {
			return nil, msg.Errorf("the MCP server %s: timeout is %s; it cannot be negative", server.Name, server.Timeout)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Grants)) {
		for _, p := range s.Grants[name].Paths {
			if p.Mode != "" && p.Mode != "ro" && p.Mode != "rw" {
				return nil, msg.Errorf("the grant of %s for %s: mode is %q; it can be ro or rw", p.Guest, name, p.Mode)
			}
		}
	}
	if e := s.Sandbox.Engine; e != "" && e != EngineWazero && e != EngineExtism {
		return nil, msg.Errorf("there is no engine %q; it can be %s or %s", e, EngineWazero, EngineExtism)
	}
	rules, err := s.Approvals.Compile()
	if err != nil {
		return nil, err
	}
	if s.SummariseOver <= 0 {
		s.SummariseOver = DefaultSummariseOver
	}
	return &activeSettings{s, rules, s.compileLimits(), patterns}, nil
}

// compileLimits returns the limits that hold for all tools.
func (s Settings) compileLimits() *bounds.Layers {
	d := s.Defaults
	d.OpenEnded = true
	d = d.Or(tool.Limits{
		MaxChars: tool.DefaultMaxChars, OpenEnded: true, MaxLines: tool.DefaultMaxLines, Strategy: tool.HeadTail,
		Head: tool.DefaultShare, Tail: tool.DefaultShare, Archive: tool.ArchiveAuto, Timeout: DefaultTimeout,
	})
	return &bounds.Layers{Defaults: d, Ceiling: cmp.Or(s.CeilingChars, tool.DefaultCeiling), Highlights: limit.CompileHighlights(d.Keep)}
}

// Apply replaces the settings in one step, scans the plugin folders and returns what
// changed. Running calls finish under the settings, in the sandbox and with the server
// with which they began. If the approvals have changed, remembered answers are deleted.
// If the settings are invalid nothing changes; if the error is that of ctx, or
// ErrClosed, they apply from the next reload on.
func (h *Host) Apply(ctx context.Context, s Settings) (Change, error) {
	next, err := s.compile()
	if err != nil {
		return Change{}, err
	}
	h.reloading.Lock()
	defer h.reloading.Unlock()
	engines, err := h.newEngines(ctx, next.Sandbox)
	if err != nil {
		return Change{}, err
	}
	before := h.settings.Swap(next)
	if engines != nil {
		defer h.engines.Swap(engines).Release()
	}
	h.running.Resize(h.slots(next.Settings))
	h.modules.Resize(next.Loaded)
	h.archive.Configure(next.Archive)
	h.finder.Configure(next.ToolSearch)
	defer h.servers.Replace(next.Servers)()
	if !reflect.DeepEqual(before.Approvals, next.Approvals) {
		h.memory.ForgetAnswers()
	}
	change, err := h.rescan(ctx, 0)
	if err == nil {
		h.logUnknown(before)
	}
	return change, err
}

// newEngines opens engines for a changed Sandbox. It returns nil if it is the same.
func (h *Host) newEngines(ctx context.Context, s Sandbox) (*runner.Engines, error) {
	if h.engines.Load().Settings().Equal(s) {
		return nil, nil
	}
	return runner.Open(context.WithoutCancel(ctx), s, h.enginesConfig())
}

// enginesConfig returns what Engines need besides a Sandbox.
func (h *Host) enginesConfig() runner.EnginesConfig {
	return runner.EnginesConfig{WorkerCommand: h.cfg.WorkerCommand, CacheDir: h.cfg.CacheDir, Logger: h.log, OpenMemories: h.openMemories}
}

// slots returns how many guests may run at the same time.
func (h *Host) slots(s Settings) int {
	if s.Parallel > 0 {
		return s.Parallel
	}
	return sched.DefaultSlots(h.enginesConfig().Isolates() && s.Sandbox.Workers.Isolation != Inline)
}

// Slots returns how many guests run at the same time if Settings.Parallel is n: of all
// plugins, and of one. inline says that plugins run in this process.
func Slots(n int, inline bool) (all, one int) {
	if n <= 0 {
		n = sched.DefaultSlots(!inline && CanIsolate())
	}
	return n, sched.PluginShare(n)
}

// resolver returns what intersects asks and the current grants.
func (h *Host) resolver() grant.Resolver {
	set := h.settings.Load()
	return grant.Resolver{Secret: h.cfg.Secret, Transport: h.cfg.Transport, Reserved: set.Reserved, Grants: set.Grants}
}

// snapshotConfig returns under what plugins run from the next snapshot on.
func (h *Host) snapshotConfig() snapshot.Config {
	set := h.settings.Load()
	return snapshot.Config{
		Limits: set.limits, Resolver: h.resolver(), Hidden: h.cfg.Hidden, ReadOnly: h.protectedPaths(),
		Engines: h.engines.Load(), Cache: h.modules, Slots: h.running, Servers: h.servers.Servers(), Held: set.Held,
		Taken: set.Taken,
		Settings: func(n toolname.Names) snapshot.Settings {
			t, timed := set.of(n)
			return snapshot.Settings{Limits: t.Limits, Timed: timed, Config: t.Config, Disabled: t.disabled(), PerMinute: t.PerMinute, CacheTTL: t.CacheTTL, Parallel: t.Parallel}
		},
	}
}

// Names returns the names of a tool, by the one under which it is offered.
func (h *Host) Names(name string) toolname.Names { return h.current.Load().Names(name) }

// logUnknown logs names in the settings that no plugin and no tool has, without those
// that were unknown before. before may be nil.
func (h *Host) logUnknown(before *activeSettings) {
	unknown := func(set *activeSettings) []string {
		return h.current.Load().Unknown(maps.Keys(set.Tools), maps.Keys(set.Grants))
	}
	var old []string
	if before != nil {
		old = unknown(before)
	}
	for _, name := range unknown(h.settings.Load()) {
		if !slices.Contains(old, name) {
			h.log.Warn("the configuration names something that no plugin has", "name", name)
		}
	}
}
