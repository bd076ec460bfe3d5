package turns

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon/api"
)

// maxTitle bounds a title that is made from a question, in characters.
const maxTitle = 60

// Title returns the title of a new conversation: the first line of its first question.
func Title(history []agent.Message, question string) string {
	for _, m := range history {
		if m.Role == agent.RoleUser && strings.TrimSpace(m.Text) != "" {
			question = m.Text
			break
		}
	}
	title := CleanTitle(FirstLine(question))
	if title == "" {
		title = CleanTitle(question)
	}
	return api.Clip(title, maxTitle)
}

// CleanTitle returns a text as one line of visible characters, safe for lists, terminals
// and web pages.
func CleanTitle(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == utf8.RuneError, !unicode.IsGraphic(r), unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	return strings.Join(strings.Fields(s), " ")
}
