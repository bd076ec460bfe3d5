package plugin

import (
	"time"

	"github.com/weirhost/weir/sdk/tool"
)

// A State says whether a plugin's tools can be called.
type State string

// The states of a plugin.
const (
	// Ready: its tools can be called.
	Ready State = "ready"
	// Pending: it is valid and lacks something that the operator can supply, such
	// as an approval, a grant or a setting.
	Pending State = "waiting"
	// Invalid: it is broken; only a change of its files makes it usable.
	Invalid State = "refused"
	// Disabled: a person disabled it.
	Disabled State = "disabled"
	// Quarantined: compiling its module, or checking its manifest, ended the process
	// that did it.
	Quarantined State = "quarantined"
)

// A Kind distinguishes plugins from other sources of tools.
type Kind string

// KindServer is another MCP server; its tools are offered like a plugin's.
const KindServer Kind = "mcp"

// Info describes one plugin and its state.
type Info struct {
	Name string `json:"name"`
	// Kind is empty for a plugin.
	Kind        Kind   `json:"kind,omitempty"`
	Version     string `json:"version,omitempty"`
	Description string `json:"description,omitempty"`
	State       State  `json:"state"`
	// ABI is the calling convention of a plugin made for another host, such as
	// "describe/call". It is empty for weir's own.
	ABI string `json:"abi,omitempty"`
	// Tools are callable when State is Ready. Disabled are the tools that the
	// operator disabled.
	Tools    []string `json:"tools,omitempty"`
	Disabled []string `json:"disabled,omitempty"`
	// Why says why the plugin is not ready. Fix is the command or edit that
	// changes it. Both are empty when it is ready.
	Why tool.Text `json:"why,omitzero"`
	Fix tool.Text `json:"fix,omitzero"`
	// Source is the manifest, or the module of a plugin without one. SHA256 is
	// the digest of the module, in hexadecimal.
	Source string `json:"source"`
	SHA256 string `json:"sha256,omitempty"`
	Trust  Trust  `json:"trust"`
	// Loaded reports whether its module is in memory.
	Loaded bool `json:"loaded,omitempty"`
	// Asks lists what it asks for, each with whether it is granted.
	Asks []Ask `json:"asks,omitempty"`
	// Unpassed is what a server offers besides tools and weir does not pass on:
	// "resources", "prompts" or both.
	Unpassed []string `json:"unpassed,omitempty"`
	// Instructions are what a server says of how its tools are used; empty: nothing.
	Instructions string `json:"instructions,omitempty"`
	// Refused are hosts that its tools requested since it was loaded under its present
	// grant and may not reach, the latest first, at most 16.
	Refused []RefusedHost `json:"refused,omitempty"`
	// Problems are all errors of an invalid plugin, and the warnings of others.
	Problems []tool.Text `json:"problems,omitempty"`
	// Digest covers the module, the manifest and the files that it refers to.
	Digest string `json:"digest,omitempty"`
	// Approved says who approved the version with this Digest. It is nil when no
	// one has, or when the host has no lock file.
	Approved *Approval `json:"approved,omitempty"`
	// Pending is the version in the folder that waits for an approval, while the
	// approved copy runs or nothing does. It is nil when no version waits.
	Pending *PendingVersion `json:"offer,omitempty"`
}

// A RefusedHost is a host that a plugin requested and may not reach.
type RefusedHost struct {
	// Host is the scheme and the host, with the port unless it is the usual one.
	Host string `json:"host"`
	// Private says that the grant covers the host, and that its address is that of
	// this machine or of a private network.
	Private bool `json:"private,omitempty"`
	// Count is the number of calls that requested it, Last the time of the last one.
	Count int       `json:"count"`
	Last  time.Time `json:"last"`
	// Fix is what the operator does to allow it.
	Fix tool.Text `json:"fix"`
}

// An Approval says who approved a version of a plugin, and when.
type Approval struct {
	// By is "cli", "page" or "api" for a person, else the rule that approves
	// without one.
	By string    `json:"by"`
	At time.Time `json:"at"`
	// RolledBack reports whether a person went back to this version.
	RolledBack bool `json:"held,omitempty"`
}

// A PendingVersion is a version that waits for a person's approval.
type PendingVersion struct {
	// Digest identifies the version for Approve. It is empty when the version
	// cannot be approved as it is.
	Digest  string    `json:"digest,omitempty"`
	Version string    `json:"version,omitempty"`
	SHA256  string    `json:"sha256,omitempty"`
	Source  string    `json:"source"`
	Cause   Cause     `json:"cause"`
	Why     tool.Text `json:"why"`
	Fix     tool.Text `json:"fix,omitzero"`
}

// A Cause says why a version is pending.
type Cause string

// The causes.
const (
	// CauseNew: it asks for something and is not approved yet.
	CauseNew Cause = "new"
	// CauseChanged: its bytes differ from those that were approved.
	CauseChanged Cause = "changed"
	// CauseMoved: it was approved at another path.
	CauseMoved Cause = "moved"
	// CauseReplaced: another plugin is at the path of an approved one.
	CauseReplaced Cause = "replaced"
	// CauseExceedsGrant: it asks for more than it is granted.
	CauseExceedsGrant Cause = "wider"
	// CauseRolledBack: a person went back to an earlier version.
	CauseRolledBack Cause = "held"
	// CauseInvalid: it cannot be used.
	CauseInvalid Cause = "broken"
	// CauseLockUnusable: the lock file cannot be read or written.
	CauseLockUnusable Cause = "unpinned"
)

// ToolInfo describes one tool that can be called.
type ToolInfo struct {
	Spec   tool.Spec `json:"spec"`
	Plugin string    `json:"plugin"` // empty for the host's own tools
	// Questions are what the tool would answer, as a model wrote them for the search of
	// tools. No model reads them.
	Questions []string `json:"questions,omitempty"`
	// Tokens estimates what the tool's description adds to each request in which a model
	// is given it. Only the daemon's route of one tool fills it.
	Tokens int `json:"tokens,omitempty"`
	// InForce is what a model reads of its results, for the agent that answers questions
	// which name none. Only the daemon's routes fill it.
	InForce *Decision `json:"in_force,omitempty"`
	// Operator is what the operator sets in place of Declared.MaxChars; 0: nothing.
	Operator int `json:"operator_chars,omitempty"`
	// Declared are the manifest's limits, Effective those in force where no agent calls.
	Declared  tool.Limits `json:"declared"`
	Effective tool.Limits `json:"effective"`
	// CharsBy, LinesBy, StrategyBy, TimeoutBy and MemoryBy name the layer that
	// decided each field of Effective. MemoryBy is empty for a tool without a guest.
	CharsBy    tool.Layer `json:"chars_by"`
	LinesBy    tool.Layer `json:"lines_by"`
	StrategyBy tool.Layer `json:"strategy_by"`
	TimeoutBy  tool.Layer `json:"timeout_by"`
	MemoryBy   tool.Layer `json:"memory_by,omitempty"`
	// PerMinute is the most calls per minute; 0 means no limit.
	PerMinute int `json:"per_minute,omitempty"`
	// CacheTTL is how long the answer to the same arguments is reused, in
	// nanoseconds; 0 means never.
	CacheTTL time.Duration `json:"cache_ttl,omitempty"`
	// Parallel is the most calls of the tool that run at once; 0: no bound, as for the
	// host's own tools. ParallelBy is the layer that decided it.
	Parallel   int        `json:"parallel,omitempty"`
	ParallelBy tool.Layer `json:"parallel_by,omitempty"`
	// Effect is what the tool can do beyond answering.
	Effect Effect `json:"effect,omitempty"`
}

// A Decision is how much of one tool's results a model reads, and which layer of limits
// decides that.
type Decision struct {
	// Profile is the agent that calls; empty: none does.
	Profile string `json:"profile,omitempty"`
	// Chars and Lines are the limits in force, By and LinesBy the layers that decide them.
	Chars   int        `json:"chars"`
	By      tool.Layer `json:"by"`
	Lines   int        `json:"lines"`
	LinesBy tool.Layer `json:"lines_by"`
	// Next is the limit in characters that would be in force without it, by the layer
	// NextBy.
	Next   int        `json:"next"`
	NextBy tool.Layer `json:"next_by"`
	// Layers are the limits in characters from the tool outwards. The round's share depends
	// on the call and is not among them.
	Layers []LayerLimit `json:"layers"`
}

// A LayerLimit is what one layer says about a tool's results.
type LayerLimit struct {
	Layer tool.Layer `json:"layer"`
	Chars int        `json:"chars"` // 0: it says nothing
	// Replaced says that another layer's limit takes its place; otherwise the lowest
	// decides.
	Replaced bool `json:"replaced,omitempty"`
	// Why is the rule that the agent's limit follows.
	Why tool.Text `json:"why,omitzero"`
}

// A LimitGroup is the tools whose results one limit bounds, for an agent with a limit
// of its own.
type LimitGroup struct {
	// Chars is the limit in force, in characters, and By the layer that decides it.
	Chars int        `json:"chars"`
	By    tool.Layer `json:"by"`
	// Next is the limit that would be in force without it, by the layer NextBy.
	Next   int        `json:"next"`
	NextBy tool.Layer `json:"next_by"`
	Tools  []string   `json:"tools"`
}

// An Effect is what a tool can do beyond answering. It follows from what the tool
// is granted; a manifest's own claims can only add to it.
type Effect string

// The effects. A tool that declares itself read-only gets no writable folder, so
// this part of its claim holds. The host cannot judge what it sends to a server.
const (
	EffectNone    Effect = "none"
	EffectNetwork Effect = "network"
	EffectChanges Effect = "changes"
)
