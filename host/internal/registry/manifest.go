package registry

import (
	"time"

	"github.com/weirhost/weir/host/internal/egress"
	"github.com/weirhost/weir/host/internal/schema"
	"github.com/weirhost/weir/sdk/tool"
)

// ManifestName is the file that describes a plugin in a folder of its own;
// SectionName is the custom section that holds the same text inside a .wasm.
const (
	ManifestName = "plugin.toml"
	SectionName  = "weir.manifest"
)

// SchemaVersion is the newest version of the manifest this package reads.
const SchemaVersion = 1

// A Manifest is a plugin's description of itself. It asks for permissions and
// grants none.
type Manifest struct {
	Name          string
	Version       string
	Description   string
	DescriptionZh string
	// MinHost is the oldest host that can run the plugin; empty: any.
	MinHost string
	// Wasm is the module's path below the manifest's folder.
	Wasm  string
	Asks  Asks
	Tools []Tool
	// Settings are what the operator may change, in the manifest's order.
	Settings []Setting
}

// Asks are the powers a plugin wants.
type Asks struct {
	Paths   []PathAsk
	Hosts   []HostAsk
	Secrets []SecretAsk
}

// A PathAsk wants a folder, which the guest sees as Guest. Write is false for mode "ro".
type PathAsk struct {
	Guest  string
	Write  bool
	Reason tool.Text
}

// A HostAsk wants to reach a host, or a family of hosts.
type HostAsk struct {
	Rule   egress.Rule
	Reason tool.Text
}

// A SecretAsk wants the host to put a secret into the header of requests for
// Host, as egress.ParseRule reads it. Format holds {} where the secret goes.
type SecretAsk struct {
	Name, Header, Format, Host string
	Reason                     tool.Text
}

// A Setting is one value the operator may change and the guest reads.
type Setting struct {
	Name        string
	Type        string // string, integer, number or boolean
	Default     any    // string, int64, float64, bool, or nil: the operator must give it
	Description string
}

// Format is how a tool's output is to be read.
type Format string

// FormatText is plain text, FormatMCP a result object as the Model Context
// Protocol shapes it.
const (
	FormatText Format = "text"
	FormatMCP  Format = "mcp"
)

// A Tool is one [[tool]] of a manifest.
type Tool struct {
	// Spec.Output holds what the manifest declares and nothing else.
	Spec   tool.Spec
	Schema *schema.Schema
	// Export is the module's function.
	Export string
	// Remote is the tool's name in the plugin itself, where ABI is a third-party one.
	Remote  string
	Format  Format
	EmptyOK bool
	// Fresh asks for a new instance for each call, in place of a renewed one.
	Fresh bool
	// TTL is how long an answer may be given again for the same arguments; 0: never.
	TTL time.Duration
	// PerMinute bounds the calls of a minute; 0: no limit.
	PerMinute int
	// Parallel bounds the calls that run at once; 0: the plugin's share.
	Parallel int
}
