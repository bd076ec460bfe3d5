package turns

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode"

	"github.com/weirhost/weir/agent"
)

// Said is one message as a client of /v1 saw it: a question, an answer, or a result of
// one of its own tools. Weir's own calls and results are not among them.
type Said struct {
	Role agent.Role
	Text string
	// IDs are those of the client's calls that an answer makes, or of the one that a
	// result answers.
	IDs []string
}

// Visible returns what a client has seen of stored messages: the questions, and after
// each the last text without a call.
func Visible(ms []agent.Message) []Said {
	var out []Said
	for _, m := range ms {
		switch {
		case m.Role == agent.RoleUser && len(out) > 0 && out[len(out)-1].Role == agent.RoleUser: // the question before has no answer
			out[len(out)-1].Text += "\n\n" + m.Text
		case m.Role == agent.RoleUser:
			out = append(out, Said{Role: m.Role, Text: m.Text})
		case m.Role != agent.RoleAssistant || len(m.Calls) > 0:
		case len(out) > 0 && out[len(out)-1].Role == agent.RoleAssistant:
			out[len(out)-1].Text = m.Text
		default:
			out = append(out, Said{Role: m.Role, Text: m.Text})
		}
	}
	return out
}

// MarkOf returns a digest of messages, by which their conversation is found again. It
// ignores white space, because clients trim. Messages without an answer have no mark,
// and MarkOf returns "": they are not a conversation yet.
func MarkOf(messages []Said) string {
	h := sha256.New()
	answered := false
	for _, s := range messages {
		text := strings.Map(func(r rune) rune {
			if unicode.IsSpace(r) {
				return -1
			}
			return r
		}, s.Text)
		answered = answered || s.Role == agent.RoleAssistant && (text != "" || len(s.IDs) > 0)
		for _, id := range s.IDs {
			text += "\x00" + id
		}
		_, _ = fmt.Fprintf(h, "%s\x00%d\x00%s\x00", s.Role, len(text), text) // a hash accepts every write
	}
	if !answered {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}
