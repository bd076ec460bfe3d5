// Package bounds holds the rules about limits of results: which may be stated, and which
// of those that a tool, an operator, an agent and the host state applies to a call.
package bounds

import (
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// Check reports the first limit that is invalid.
func Check(l tool.Limits) error {
	switch {
	case l.MaxChars != 0 && l.MaxChars < tool.MinMaxChars:
		return msg.Errorf("max_chars is %d; at least %d are needed: the notice alone has %d", l.MaxChars, tool.MinMaxChars, tool.NoticeChars)
	case l.MaxLines < 0 || l.MaxLines == 1:
		return msg.Errorf("max_lines is %d; at least 2 are needed: the notice is one", l.MaxLines)
	case !l.Strategy.Valid():
		return msg.Errorf("strategy is %q; it can be %s, %s, %s, %s or %s", l.Strategy, tool.HeadTail, tool.HeadOnly, tool.TailOnly, tool.JSON, tool.Summarize)
	case l.Head < 0 || l.Tail < 0 || !(l.Head+l.Tail <= 1):
		return msg.Errorf("head and tail are %v and %v; they are shares and make at most 1 together", l.Head, l.Tail)
	case l.KeepContext < 0:
		return msg.Errorf("keep_context is %d; it cannot be negative", l.KeepContext)
	case l.Timeout < 0:
		return msg.Errorf("timeout is %s; it cannot be negative", l.Timeout)
	case l.Memory < 0:
		return msg.Errorf("memory is %d; it cannot be negative", l.Memory)
	case l.Archive != "" && l.Archive != tool.ArchiveAuto && l.Archive != tool.ArchiveAlways && l.Archive != tool.ArchiveNever:
		return msg.Errorf("archive is %q; it can be %s, %s or %s", l.Archive, tool.ArchiveAuto, tool.ArchiveAlways, tool.ArchiveNever)
	}
	return limit.CheckHighlights(l.Keep)
}
