package chat

import (
	"bytes"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/weirhost/weir/host/internal/term"
)

// maxHistory is the number of lines that a history loads. The file is rewritten
// when it holds twice as many.
const maxHistory = 1000

// A history is a file of the lines that were typed in chats. Two chats may append
// to it at once. A line that cannot be written is lost without an error: it must
// not stop a chat.
type history struct {
	path  string
	lines []string // that were loaded
}

func openHistory(path string) *history {
	h := &history{path: path}
	b, err := os.ReadFile(path)
	if err != nil {
		return h
	}
	all := strings.FieldsFunc(string(b), func(r rune) bool { return r == '\n' })
	for _, line := range all[max(0, len(all)-maxHistory):] {
		if utf8.ValidString(line) {
			h.lines = append(h.lines, term.Calm(line))
		}
	}
	if len(all) > 2*maxHistory {
		h.rewrite()
	}
	return h
}

// rewrite reduces the file to the lines that were loaded.
func (h *history) rewrite() {
	text := []byte(strings.Join(h.lines, "\n") + "\n")
	temp := h.path + ".new"
	if os.WriteFile(temp, text, 0o600) != nil || os.Rename(temp, h.path) != nil {
		_ = os.Remove(temp)
	}
}

func (h *history) add(line string) {
	f, err := os.OpenFile(h.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return
	}
	_ = f.Chmod(0o600) // another program may have made it readable for others
	_, _ = f.Write(append(bytes.TrimRight([]byte(line), "\n"), '\n'))
	_ = f.Close()
}
