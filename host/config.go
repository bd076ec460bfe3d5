package host

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/sdk/tool"
)

// Config says what a Host runs and what it grants. The zero Config is a host
// without plugins, which keeps results in a temporary file.
type Config struct {
	// Folders are scanned in order; of two plugins that clash over a name, the
	// one found first stays.
	Folders []Folder
	// Servers are other MCP servers, whose tools are offered beside the plugins'.
	Servers []Server
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
	Grants map[string]Grant
	// Approvals say which calls run unasked; the zero value asks about every call
	// that can change something.
	Approvals Approvals
	// Approve asks a person about the calls of a session that has nobody of its
	// own (Session.Asking); nil: nobody is there, and what must be asked about
	// does not run.
	Approve Approver
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

// A Folder is a place where plugins lie.
type Folder struct {
	Path  string
	Trust Trust
}

// A Trust says how much the operator trusts a folder.
type Trust string

// In a TrustAsk folder a plugin that asks for powers, and every change of any
// plugin, is for a person to approve; in a TrustGranted folder both are
// accepted while the asks stay inside what is granted. The empty Trust reads as
// TrustAsk.
const (
	TrustAsk     Trust = "ask"
	TrustGranted Trust = "granted"
)

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

// A Grant is what a plugin may do of what it asks for.
type Grant struct {
	Paths   []PathGrant
	Hosts   []HostGrant
	Secrets []string
	// Inject places secrets for a plugin made for another host, which cannot say
	// where they go. Other plugins say it themselves, and this is ignored.
	Inject []Injection
	// Config holds settings for all tools of the plugin; those of a tool's own
	// ToolConfig come before them.
	Config map[string]any
}

// An Injection puts a secret into a header of the requests to one host. The
// plugin never sees it.
type Injection struct {
	Name   string
	Header string // empty: Authorization
	Format string // {} stands for the secret; empty: "Bearer {}" in Authorization, else "{}"
	Host   string // one of the granted hosts, by name
}

func (i Injection) orDefaults() Injection {
	if i.Header == "" {
		i.Header = "Authorization"
	}
	if i.Format == "" {
		i.Format = "{}"
		if strings.EqualFold(i.Header, "Authorization") {
			i.Format = "Bearer {}"
		}
	}
	return i
}

// A PathGrant shows the folder Host to a guest as Guest.
type PathGrant struct {
	Guest string
	Host  string
	Mode  string // "ro" (also when empty) or "rw"
}

// A HostGrant opens the way to a host, such as "api.example.com" (https on port
// 443), "http://localhost:3000", "*.example.com" or "*".
type HostGrant struct {
	Host string
	// Private allows the host to be this machine or one in a private network.
	// It is needed for names; an address or "localhost" speaks for itself.
	Private bool
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

// What holds when nobody says anything else.
const (
	defaultTimeout       = 30 * time.Second
	defaultSummariseOver = 20000
	// archiveOver is the length, in characters, over which a result is archived.
	archiveOver = 1000
)

// A State says whether a plugin can be used.
type State string

// The states of a plugin. A Waiting plugin is sound and lacks something that
// the operator can give; a Refused one is broken; a person said that an Off one
// stays out.
const (
	Ready   State = "ready"
	Waiting State = "waiting"
	Refused State = "refused"
	Off     State = "disabled"
	// Quarantined: compiling it ended the process that did it.
	Quarantined State = "quarantined"
)

// A Kind tells plugins from what is listed beside them.
type Kind string

// KindServer is another MCP server, whose tools are offered like a plugin's.
const KindServer Kind = "mcp"

// PluginInfo tells about one plugin.
type PluginInfo struct {
	Name string `json:"name"`
	// Kind is what it is; empty: a plugin.
	Kind        Kind   `json:"kind,omitempty"`
	Version     string `json:"version,omitempty"`
	Description string `json:"description,omitempty"`
	State       State  `json:"state"`
	// ABI is the way it talks where it was made for another host, such as
	// "describe/call"; empty: weir's own.
	ABI      string   `json:"abi,omitempty"`
	Tools    []string `json:"tools,omitempty"`    // those that can be called when it is ready
	Disabled []string `json:"disabled,omitempty"` // those that the operator took out
	// Why says what keeps it from being ready, Fix the exact command or edit
	// that changes it; both are empty when it is ready.
	Why string `json:"why,omitempty"`
	Fix string `json:"fix,omitempty"`
	// Source is the file that describes it, SHA256 the digest of its module in hex.
	Source string `json:"source"`
	SHA256 string `json:"sha256,omitempty"`
	Trust  Trust  `json:"trust"`
	// Loaded says that it is in memory: it was called, and not let go of since.
	Loaded bool `json:"loaded,omitempty"`
	// Asks is what it wants, and what of it is granted.
	Asks []AskInfo `json:"asks,omitempty"`
	// Problems are all the errors of a refused plugin; of others the warnings.
	Problems []string `json:"problems,omitempty"`
	// Digest names the bytes told about here: module, manifest and what it refers to.
	Digest string `json:"digest,omitempty"`
	// Approved is who let these bytes in; nil: nobody has, or nothing is pinned.
	Approved *Approval `json:"approved,omitempty"`
	// Offer is what lies in the folder and waits for a person, while the approved
	// copy serves or nothing does; nil: nothing waits.
	Offer *Offer `json:"offer,omitempty"`
}

// An Approval says who let a version of a plugin in. By is "cli", "page" or
// "api" for a person, else the rule that made a person's word unnecessary.
type Approval struct {
	By string    `json:"by"`
	At time.Time `json:"at"`
	// Held says that a person went back to this version.
	Held bool `json:"held,omitempty"`
}

// An Offer is a version that waits for a person.
type Offer struct {
	// Digest is what Approve takes; empty: it cannot be approved as it is.
	Digest  string `json:"digest,omitempty"`
	Version string `json:"version,omitempty"`
	SHA256  string `json:"sha256,omitempty"`
	Source  string `json:"source"`
	Cause   Cause  `json:"cause"`
	Why     string `json:"why"`
	Fix     string `json:"fix,omitempty"`
}

// A Cause is why a version waits for a person.
type Cause string

// The causes.
const (
	CauseNew      Cause = "new"      // it asks for something, and nobody has approved it yet
	CauseChanged  Cause = "changed"  // its bytes are not those that were approved
	CauseMoved    Cause = "moved"    // it lies elsewhere
	CauseReplaced Cause = "replaced" // another plugin lies in an approved one's place
	CauseWider    Cause = "wider"    // it asks for more than it is granted
	CauseHeld     Cause = "held"     // somebody went back to an earlier version
	CauseBroken   Cause = "broken"   // it cannot be used
	CauseUnpinned Cause = "unpinned" // the lock cannot be used
)

// AskInfo is one power a plugin asks for.
type AskInfo struct {
	Kind    string `json:"kind"` // path, host or secret
	What    string `json:"what"`
	Reason  string `json:"reason,omitempty"`
	Granted bool   `json:"granted"`
}

// ToolInfo tells about one tool that can be called.
type ToolInfo struct {
	Spec   tool.Spec `json:"spec"`
	Plugin string    `json:"plugin"` // empty for the host's own
	// Declared is what the manifest states, Effective what is in force.
	Declared  tool.Limits `json:"declared"`
	Effective tool.Limits `json:"effective"`
	// The layers that decided the fields of Effective.
	CharsBy    tool.Layer `json:"chars_by"`
	LinesBy    tool.Layer `json:"lines_by"`
	StrategyBy tool.Layer `json:"strategy_by"`
	TimeoutBy  tool.Layer `json:"timeout_by"`
	MemoryBy   tool.Layer `json:"memory_by,omitempty"` // empty: the sandbox's default
	// PerMinute bounds its calls; 0: nothing does.
	PerMinute int `json:"per_minute,omitempty"`
	// CacheTTL is how long an answer is given again for the same arguments, in
	// nanoseconds; 0: never.
	CacheTTL time.Duration `json:"cache_ttl,omitempty"`
	// Parallel is how many of its guests run at once; 0: it runs none, being the
	// host's own. ParallelBy is who says so.
	Parallel   int        `json:"parallel,omitempty"`
	ParallelBy tool.Layer `json:"parallel_by,omitempty"`
	// Effect is what the tool can do beside answering.
	Effect Effect `json:"effect,omitempty"`
}
