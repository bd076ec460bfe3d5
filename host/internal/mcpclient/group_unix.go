//go:build unix

package mcpclient

import (
	"os/exec"
	"syscall"
)

// group gives a program a process group of its own: a terminal's Ctrl-C is for us,
// and what the program starts can be ended with it.
func group(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// endGroup ends what is left of a program's group.
func endGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // nothing is left, as a rule
	}
}
