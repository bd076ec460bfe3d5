package main

import (
	"bytes"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/weirhost/weir/host/internal/term"
)

// mostHistory is how many lines a history comes back with; the file is written
// anew once it holds twice as many.
const mostHistory = 1000

// A history is what was typed in chats, one line each, in the data folder. Two
// chats may add to it at once. What cannot be written is forgotten: nobody
// should be kept from talking by it.
type history struct {
	path  string
	lines []string // that were there at first
}

func (c *cli) openHistory() *history {
	p, err := c.findPaths()
	if err != nil {
		return nil
	}
	h := &history{path: p.ChatHistory()}
	b, err := os.ReadFile(h.path)
	if err != nil {
		return h
	}
	all := strings.FieldsFunc(string(b), func(r rune) bool { return r == '\n' })
	for _, line := range all[max(0, len(all)-mostHistory):] {
		if utf8.ValidString(line) {
			h.lines = append(h.lines, term.Calm(line))
		}
	}
	if len(all) > 2*mostHistory {
		h.rewrite()
	}
	return h
}

// rewrite keeps only the last lines.
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
	_ = f.Chmod(0o600) // it may have been made by somebody less careful
	_, _ = f.Write(append(bytes.TrimRight([]byte(line), "\n"), '\n'))
	_ = f.Close()
}
