package plugin

import (
	"cmp"
	"strings"

	"github.com/weirhost/weir/sdk/tool"
)

// A Folder is a directory that is scanned for plugins.
type Folder struct {
	Path  string
	Trust Trust
	// Shipped marks the tools that came with the program: a plugin of another folder
	// that has the name of one replaces it.
	Shipped bool
}

// Trust says how much the operator trusts a folder. The empty Trust means TrustAsk.
type Trust string

// The levels of trust.
const (
	// TrustAsk: a person approves each plugin that asks for something, and every
	// change of any plugin.
	TrustAsk Trust = "ask"
	// TrustGranted: plugins and changes are approved automatically while they ask
	// for no more than the operator grants.
	TrustGranted Trust = "granted"
)

// An Ask is one permission that a plugin asks for.
type Ask struct {
	Kind    string    `json:"kind"` // path, host or secret
	What    string    `json:"what"`
	Reason  tool.Text `json:"reason,omitzero"`
	Granted bool      `json:"granted"`
}

// A Grant is what the operator allows a plugin. The plugin gets only what it asks
// for and is granted.
type Grant struct {
	Paths   []PathGrant
	Hosts   []HostGrant
	Secrets []string
	// Inject says where secrets go for a plugin made for another host, which
	// cannot say so itself. It is ignored for other plugins.
	Inject []Injection
	// Config holds settings for all tools of the plugin. A tool's own settings
	// take precedence.
	Config map[string]any
}

// An Injection puts a secret into a header of the requests to one host. The
// plugin never sees the secret.
type Injection struct {
	Name   string
	Header string // empty: Authorization
	Format string // {} is replaced by the secret; empty: "Bearer {}" for Authorization, else "{}"
	Host   string // one of the granted hosts, by name
}

// WithDefaults returns i with its empty fields filled in.
func (i Injection) WithDefaults() Injection {
	i.Header = cmp.Or(i.Header, "Authorization")
	if i.Format == "" {
		i.Format = "{}"
		if strings.EqualFold(i.Header, "Authorization") {
			i.Format = "Bearer {}"
		}
	}
	return i
}

// A PathGrant gives a plugin the folder Host under the path Guest.
type PathGrant struct {
	Guest string
	Host  string
	Mode  string // "ro" (also when empty) or "rw"
}

// A HostGrant allows requests to a host, such as "api.example.com" (https on port
// 443), "http://localhost:3000", "*.example.com" or "*".
type HostGrant struct {
	Host string
	// Private allows the host to resolve to this machine or a private network. An
	// address or "localhost" needs no Private: its spelling already says so.
	Private bool
}
