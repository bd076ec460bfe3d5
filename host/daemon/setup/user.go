package setup

import (
	"crypto/sha256"
	"regexp"
	"slices"
	"sync"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/usage"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/toolname"
	"github.com/weirhost/weir/sdk/tool"
)

// A User is a person with a token of their own, other than the operator. A user sees only
// their own conversations, archives and approvals, and no settings of weir. For
// everything else, the daemon answers as if it did not exist.
type User struct {
	// TokenSHA256 is the digest of the token; zero: no token, and the user has no
	// access.
	TokenSHA256 [sha256.Size]byte
	// Profiles and Models are those that the user may name, nil: all. The first
	// profile is the user's default one, unless "default" is among them; a
	// profile whose model is not allowed asks the first that is.
	Profiles, Models []string
	// Tools lists the tools that the user sees, in every profile, nil: all; Deny
	// wins over it. Those that read the user's own archives are always there.
	Tools, Deny []string
	// Locale is the language of what the user and their models read; empty: as
	// the profile says.
	Locale tool.Locale
	Quota  usage.Quota
	// Listing is which tools the list of their MCP clients has: auto, all or search;
	// empty: as for all.
	Listing string

	names func(name string) toolname.Names // see Current.SetNames; nil: each tool has one
}

// DefaultOperator is the name of the operator if nothing else is configured.
const DefaultOperator = "local"

// userName matches valid names of users. Addresses and ids of conversations contain them.
var userName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]{0,63}$`) })

// CheckUserName returns an error if no user can have the name.
func CheckUserName(name string) error {
	switch {
	case !userName().MatchString(name):
		return msg.Errorf("a user's name has 1 to 64 of the characters a-z 0-9 _ . - and begins with a letter or digit; %q does not", api.Clip(name, 80))
	case name == DefaultOperator:
		return msg.Errorf("%s is the operator's own name", name)
	}
	return nil
}

// ownTools read what is the user's own, or call only what the user sees.
var ownTools = []string{tool.RunScript, tool.LoadHistory, tool.SearchHistory, tool.DescribeTool, tool.FindTools, tool.CallTool}

// Sees reports whether a tool is there for the user; nil: the operator, who sees
// all.
func (u *User) Sees(name string) bool {
	if u == nil {
		return true
	}
	n := toolname.Names{Name: name}
	if u.names != nil && len(u.Deny)+len(u.Tools) > 0 {
		n = u.names(name)
	}
	return !toolname.Denied(u.Deny, n) && (u.Tools == nil || toolname.Allowed(u.Tools, n) || slices.Contains(ownTools, name))
}

// OwnQuota is the user's; the operator, who is nil, has none.
func (u *User) OwnQuota() usage.Quota {
	if u == nil {
		return usage.Quota{}
	}
	return u.Quota
}
