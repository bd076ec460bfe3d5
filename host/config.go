package host

import (
	"net/http"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/sdk/tool"
)

// Config says what a Host runs and what it permits. The zero Config is a host without
// plugins, which archives results in a temporary file.
type Config struct {
	// Settings can change while the Host runs; see Apply.
	Settings

	// Lock is the file that pins the bytes of every plugin that may run and records
	// the decisions of people. Only one process may use it at a time. If empty,
	// nothing is pinned, and a folder's Trust is shown and not enforced.
	Lock string
	// Approved is the folder with copies of approved plugins. If empty, it is the
	// folder "approved" next to Lock.
	Approved string
	// LockURL is a database whose lock counts, and is not changed. If empty, it is Archive.URL.
	LockURL string
	// Hidden are files and folders that no plugin can read or change, in whatever
	// folder it is granted: keys, tokens, the archive. They need not exist.
	Hidden []string
	// ReadOnly are files and folders that plugins can read and never change, such as
	// the configuration. A name without a folder is protected in every folder. The
	// plugin folders are always protected.
	ReadOnly []string
	// CacheDir stores compiled modules between runs; it must be private to the user.
	// If empty, every process compiles them again.
	CacheDir string

	// WorkerCommand starts a process that runs one plugin: a program whose main
	// begins with WorkerMain, and its arguments. If empty, or on a system without
	// such processes, everything runs in this process.
	WorkerCommand []string
	// PrecompileDelay is how long the plugin set must be unchanged before uncalled
	// plugins are compiled in the background, one at a time. 0 or negative: plugins
	// are compiled at their first call, or by Warm. It has no effect without a
	// WorkerCommand.
	PrecompileDelay time.Duration

	// Approve asks a person about the calls of a session that has no Approver of its
	// own (Session.Asking). If nil, calls that need an approval do not run.
	Approve approval.Approver
	// Secret returns a secret by its name. If nil, there are none.
	Secret func(name string) (string, bool)
	// Transport replaces the network for requests of plugins, after grants,
	// redirects and secrets were checked. It must be safe for concurrent use. If nil,
	// requests use the network.
	Transport http.RoundTripper
	// Asking receives the name of a plugin made for another host when Open or Reload
	// starts to ask it for its tools, which needs seconds and happens once. It may be
	// nil.
	Asking func(plugin string)
	// Logger gets one line for every call, as keys and values. If nil, there is no log.
	Logger hclog.Logger
	// Version is this host's version, for min_host in manifests. If empty, every
	// manifest is accepted.
	Version string
	// Now returns the time. If nil, it is time.Now.
	Now func() time.Time
}

// A ToolConfig holds the operator's settings for one tool.
type ToolConfig struct {
	// Limits replace the limits that the tool declares, field by field. A zero field
	// keeps that of a table of less weight, else the declared one; a negative number is
	// an error.
	Limits tool.Limits
	// Config holds the settings that the plugin's manifest lists.
	Config map[string]any
	// Disabled says whether the tool is removed. nil: as a table of less weight says, else
	// it is not.
	Disabled *bool
	// PerMinute is the most calls per minute, 0: no limit, and CacheTTL how long an
	// answer to the same arguments is reused, 0: never. nil: as the tool declares.
	PerMinute *int
	CacheTTL  *time.Duration
	// SummariseOver replaces Settings.SummariseOver for the tool. 0: it holds.
	SummariseOver int
	// Parallel bounds the tool's guests that run at the same time, within the Host's
	// bound, or its calls of another server, within the server's. 0: as the tool declares;
	// negative: its plugin's share.
	Parallel int
}

// A Principal identifies the caller. Only the caller can read their archive.
type Principal string

// A SummaryRequest asks for a shorter form of a whole result.
type SummaryRequest struct {
	// Principal and Conversation are those of the call.
	Principal    Principal
	Conversation string

	Tool   string
	Query  string // the subject of the call, at most 500 characters
	Text   string // the whole
	Chars  int    // maximum length of the summary, in characters
	Locale tool.Locale
}

// A Summary is a shorter form of a result, with its cost. The Host measures the time.
type Summary struct {
	Text                string
	Model               string // that wrote it
	TokensIn, TokensOut int
	Estimated           bool // the provider did not count the tokens
}
