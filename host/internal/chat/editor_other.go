//go:build !(linux || darwin || freebsd || netbsd || openbsd)

package chat

import "context"

// newInput returns an input that reads lines as the system's console edits them.
func (c *chat) newInput(context.Context, string) input {
	return &plainInput{c.Printer, NewLines(c.In)}
}
