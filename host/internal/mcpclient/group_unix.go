//go:build unix

package mcpclient

import (
	"fmt"
	"io"
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

// A guard ends the group of a program when this process ends without having done so: by a
// signal, for example. A program that does not end with its input would stay. It is a process
// of its own, which reads from us: the kernel closes that pipe however we end. That the kernel
// kills the program itself with its parent would not reach what the program has started, which
// is the server where a launcher such as npx starts it.
type guard struct {
	cmd *exec.Cmd
	in  io.WriteCloser
}

const (
	guardShell  = "/bin/sh"
	guardScript = `read -r group || exit; read -r end || kill -9 "-$group"`
)

// newGuard starts a guard. It returns nil if that fails: the program runs without one.
func newGuard() *guard {
	g := &guard{cmd: exec.Command(guardShell, "-c", guardScript)}
	g.cmd.Env, g.cmd.Dir = []string{}, "/"
	group(g.cmd)
	in, err := g.cmd.StdinPipe()
	if err != nil || g.cmd.Start() != nil {
		return nil
	}
	g.in = in
	return g
}

// watch says which group is guarded.
func (g *guard) watch(group int) {
	if g != nil {
		_, _ = fmt.Fprintln(g.in, group) // it was killed: the program runs without one
	}
}

// close ends the guard. Nothing of the group may be left.
func (g *guard) close() {
	if g != nil {
		_, _ = io.WriteString(g.in, "end\n")
		_ = g.in.Close()
		_ = g.cmd.Wait()
	}
}
