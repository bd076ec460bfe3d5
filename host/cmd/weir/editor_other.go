//go:build !(linux || darwin || freebsd || netbsd || openbsd)

package main

import "context"

// typist reads lines as the system's own console edits them.
func (c *cli) typist(context.Context, *talk, bool) typist {
	return plainTypist{c, newKeyboard(c.In)}
}
