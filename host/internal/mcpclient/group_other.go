//go:build !unix

package mcpclient

import "os/exec"

// There are no process groups to be ended.

func group(*exec.Cmd)    {}
func endGroup(*exec.Cmd) {}

type guard struct{}

func newGuard() *guard   { return nil }
func (*guard) watch(int) {}
func (*guard) close()    {}
