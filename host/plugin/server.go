package plugin

import "time"

// A Server is another MCP server. The host offers its tools under the same limits,
// archive and log as a plugin's. Its program is not sandboxed: it runs as the
// operator started it, with all rights of an ordinary process.
type Server struct {
	Name string // its tools are called <name>__<tool>
	// Command, Args, Env and Dir start a program that speaks MCP on its standard
	// streams. URL and Headers reach a server over HTTP. Exactly one of Command
	// and URL is set.
	Command string
	Args    []string
	Env     map[string]string
	Dir     string
	URL     string
	Headers map[string]string
	// Allow and Deny are patterns of tool names without the server's name, in the
	// syntax of path.Match, where a slash is an ordinary letter. An empty Allow
	// allows all. Deny takes precedence over Allow.
	Allow, Deny []string
	// TrustHints accepts the server's claim about which of its tools change
	// nothing. Without it each tool counts as one that changes something.
	TrustHints bool
	// Variables are those that its settings refer to and that are set, with their values. What
	// its program writes is shown and logged with their names in place of the values.
	Variables map[string]string
	// Unset are variables that its settings refer to and that are not set. It is not started:
	// it would end for want of a key, and seldom say so.
	Unset []string
	// Start is the timeout of a connection; 0 or negative means 60 seconds.
	Start time.Duration
	// Timeout is how long a call may take. Each report of progress begins it anew, up to
	// twelve times in all. 0: 5 minutes; negative is an error.
	Timeout time.Duration
	// Parallel is how many calls run at the same time; 0: 64, negative: no bound. They
	// take no slots of Settings.Parallel.
	Parallel int
}
