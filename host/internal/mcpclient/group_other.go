//go:build !unix

package mcpclient

import "os/exec"

// There are no process groups to be ended.
type guard struct{}

func newGuard() *guard             { return nil }
func (*guard) admit(*exec.Cmd)     {}
func (*guard) watch(int)           {}
func (*guard) ended()              {}
func (*guard) end(*exec.Cmd, bool) {}
func (*guard) close()              {}
