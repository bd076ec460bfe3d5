package host

import (
	"context"
	"net/http"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// Config says what a Host runs and what it grants. The zero Config is a host
// without plugins, which keeps results in a temporary file.
type Config struct {
	// Folders are scanned in order; of two plugins that clash over a name, the
	// one found first stays.
	Folders []plugin.Folder
	// Servers are other MCP servers, whose tools are offered beside the plugins'.
	Servers []plugin.Server
	// Defaults hold for what neither a tool nor the operator states. Its own
	// zero fields mean 8,000 characters, 500 lines, head_tail and 30 seconds.
	Defaults tool.Limits
	// CeilingChars is what no limit passes, in characters, loads excepted; 0:
	// tool.DefaultCeiling. Negative is an error.
	CeilingChars int
	// Tools holds the operator's settings by tool name.
	Tools map[string]ToolConfig
	// Grants holds what each plugin may do, by plugin name. A plugin gets what it
	// asks for and is granted, and nothing else.
	Grants map[string]plugin.Grant
	// Approvals say which calls run unasked; the zero value asks about every call
	// that can change something.
	Approvals approval.Policy
	// Approve asks a person about the calls of a session that has nobody of its
	// own (Session.Asking); nil: nobody is there, and what must be asked about
	// does not run.
	Approve approval.Approver
	// Lock is the file that pins the bytes of every plugin that may run, and keeps
	// what people said about it. Only one process may use it at a time. Empty:
	// nothing is pinned, and a folder's Trust is shown and not enforced.
	Lock string
	// Approved is the folder with copies of what was approved; empty: the folder
	// "approved" beside Lock.
	Approved string
	// Hidden are files and folders that no plugin can read or change, whatever
	// folder it is granted: keys, tokens, the archive. They need not exist.
	Hidden []string
	// Kept are files and folders that plugins may read and never change: what
	// decides about them. A name without a folder is kept wherever it lies. The
	// plugin folders are kept in any case.
	Kept []string
	// Archive says where whole results are kept. An empty Path: in a temporary
	// file that Close removes.
	Archive archive.Config
	// CacheDir keeps compiled modules between runs; it must be private to the
	// user. Empty: every process compiles anew.
	CacheDir string
	// Secret looks a secret up by name; nil: there are none.
	Secret func(name string) (string, bool)
	// Transport stands in for the network in what plugins request: the grants,
	// redirects and secrets hold as ever, and what they let out goes here. It must
	// be safe for concurrent use. nil: the network.
	Transport http.RoundTripper
	// Logger gets one line for every call, as keys and values; nil: nobody does.
	Logger hclog.Logger
	// Version is this host's version, for min_host; empty: new enough.
	Version string
	// Now tells the time; nil: time.Now.
	Now func() time.Time
	// Asking is told when Open or Reload begins to ask a plugin made for another
	// host for its tools, which takes seconds and happens once; nil: nobody is.
	Asking func(plugin string)
	// Engine runs the plugins: EngineWazero, also when empty, or EngineExtism.
	// Another name is an error.
	Engine string
	// Renewed is how many instances per plugin, or one in each process, are renewed
	// and wait for the next call; 0: 4; negative: none, every call gets a new one.
	Renewed int
	// Spares is how many instances, each for one call, are kept ready per
	// plugin where they cannot be renewed; 0 or negative: none.
	Spares int
	// Loaded is how much memory the plugins in memory may take together while no
	// call runs, by estimate, the processes that wait for calls included. What was
	// used longest ago goes first and loads again at its next call; what was used
	// last stays in any case. 0: DefaultLoaded; negative: there is no bound.
	Loaded tool.Bytes
	// Parallel bounds the guests that run at once; one plugin gets a quarter of
	// that, at least 2. Short calls that wait in line for one process, of which one
	// runs, count as one guest. 0 or negative: 4 for each CPU, at least 16, or inline
	// 2 for each CPU, at least 4.
	Parallel int
	// Summarise lets a model shorten results of tools whose strategy is
	// "summarize"; nil: they are cut by head_tail. An error comes with what the
	// attempt cost.
	Summarise func(ctx context.Context, r SummaryRequest) (Summary, error)
	// SummariseOver is the length, in characters, over which Summarise is asked;
	// 0 or negative: 20,000.
	SummariseOver int
	// WorkerCommand starts a process that runs one plugin: a program whose main
	// begins with WorkerMain, and its arguments. Empty, or on a system without
	// such processes: everything runs in this process.
	WorkerCommand []string
	// Workers tunes these processes.
	Workers Workers
	// Ahead is how long the plugins must have stayed as they are before new ones
	// are compiled that nobody has called yet, one at a time, behind everything
	// else; 0 or negative: they are compiled at their first call, or by Warm. It
	// means nothing without a WorkerCommand.
	Ahead time.Duration
}

// A ToolConfig is what the operator sets for one tool.
type ToolConfig struct {
	// Limits replace what the tool declares, field by field, up or down. Zero
	// fields leave the declared ones; negative numbers are an error.
	Limits tool.Limits
	// Config holds the settings that the plugin's manifest lists.
	Config map[string]any
	// Disabled takes the tool out.
	Disabled bool
	// Parallel bounds the tool's guests that run at once, within the Host's own
	// bound; 0: as the tool declares, negative: as if it declared nothing, which
	// is its plugin's share.
	Parallel int
}

// A Principal is who calls: archives are theirs alone.
type Principal string

// A SummaryRequest asks for a shorter form of a whole result.
type SummaryRequest struct {
	// Principal and Conversation are those whose call it is.
	Principal    Principal
	Conversation string

	Tool   string
	Query  string // what the call was about, at most 500 characters
	Text   string // the whole
	Chars  int    // the summary may be so long, in characters
	Locale tool.Locale
}

// A Summary is a shorter form of a result, and what it took. The Host measures
// the time itself.
type Summary struct {
	Text                string
	Model               string // who wrote it
	TokensIn, TokensOut int
	Estimated           bool // the provider did not count the tokens
}

// The defaults of Config. The configuration of a daemon shows the same.
const (
	// DefaultTimeout is the time limit of a call.
	DefaultTimeout = 30 * time.Second
	// DefaultSummariseOver is the length, in characters, from which a result is
	// summarised.
	DefaultSummariseOver = 20000
)
