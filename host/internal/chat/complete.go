package chat

import (
	"context"
	"strings"

	"github.com/weirhost/weir/host/internal/term"
)

// complete returns the completions of the word before pos, with the text before
// and after it: the commands, and the arguments of each.
func (c *chat) complete(ctx context.Context, line string, pos int) (head string, words []string, tail string) {
	r := []rune(line)
	before := string(r[:pos])
	i := strings.LastIndexByte(before, ' ') + 1
	head, tail = before[:i], string(r[pos:])
	if !strings.HasPrefix(before, "/") {
		return head, nil, tail
	}
	var all []string
	switch strings.TrimSpace(head) {
	case "":
		for _, cmd := range commands() {
			all = append(all, cmd.name)
		}
	case "/model":
		all, _ = ModelNames(ctx, c.cl) // without a list there are no completions
	case "/profile":
		all, _ = ProfileNames(ctx, c.cl)
	case "/open":
		list, _ := Conversations(ctx, c.cl)
		for _, x := range list {
			all = append(all, x.ID)
		}
	case "/show", "/load":
		for _, id := range c.archived {
			all = append(all, term.ShortID(id))
		}
	}
	for _, w := range all {
		if strings.HasPrefix(w, before[i:]) {
			words = append(words, w)
		}
	}
	return head, words, tail
}
