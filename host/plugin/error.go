package plugin

import "github.com/weirhost/weir/sdk/tool"

// A Code classifies an Error.
type Code string

// The codes of an Error.
const (
	// CodeUnknown: no plugin has that name.
	CodeUnknown Code = "unknown_plugin"
	// CodeInvalid: the plugin is broken.
	CodeInvalid Code = "unapprovable"
	// CodeChanged: the plugin's files differ from the version that was shown.
	CodeChanged Code = "changed"
	// CodeNoVersion: there is no such earlier version.
	CodeNoVersion Code = "no_version"
	// CodeLockUnusable: the lock file cannot be read or written.
	CodeLockUnusable Code = "unpinned"
)

// An Error says why a request about a plugin failed. Nothing has changed then,
// unless its message says so.
type Error struct {
	Code      Code
	Msg, Hint tool.Text
}

// Error returns the message in English, without the hint.
func (e *Error) Error() string { return e.Msg.String() }

// MsgText returns the message as a Text, for translation.
func (e *Error) MsgText() tool.Text { return e.Msg }
