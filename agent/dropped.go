package agent

import (
	"fmt"
	"unicode/utf8"

	"github.com/weirhost/weir/agent/internal/prompt"
	"github.com/weirhost/weir/sdk/tool"
)

// firstQuestionChars is how much of a conversation's first question is sent when its turn is
// not, in characters: what the conversation is about is said in it.
const firstQuestionChars = 2000

// forget decides which messages before end are sent. In place of the others stand the first
// question and a line that says how many turns are left out, and where their results are.
func (r *run) forget(end int) {
	r.memory.first, r.memory.head, r.memory.headTokens = end, nil, 0
	if !r.cfg.EnableMemory {
		return
	}
	r.memory.first = memoryStart(r.msgs[:end], r.cfg.MemoryLimit, r.window, r.mode)
	turns, question := 0, -1
	for i, m := range r.msgs[:r.memory.first] {
		if m.Role == RoleUser {
			if turns++; question < 0 {
				question = i
			}
		}
	}
	if question < 0 {
		return
	}
	r.memory.opening = question
	first := r.msgs[question]
	w := prompt.For(r.prompt.Locale)
	if n := utf8.RuneCountInString(first.Text); n > firstQuestionChars {
		first.Text = string([]rune(first.Text)[:firstQuestionChars]) + "\n" + fmt.Sprintf(w.QuestionGoesOn, n-firstQuestionChars)
	}
	line := fmt.Sprintf(w.TurnsLeftOut, turns)
	if prompt.HasTool(r.specs, tool.SearchHistory) {
		line += w.TurnsFound
	}
	first.Results, first.Calls = nil, nil
	r.memory.head = []Message{first, note(line+"]", first.Turn, r.prompt.Locale)}
	for _, m := range r.memory.head {
		r.memory.headTokens += rawMessage(m, r.mode, nil)
	}
}

// sent returns the messages of the next request.
func (r *run) sent() []Message {
	if len(r.memory.head) == 0 {
		return r.msgs[r.memory.first:]
	}
	return append(r.memory.head[:len(r.memory.head):len(r.memory.head)], r.msgs[r.memory.first:]...)
}
