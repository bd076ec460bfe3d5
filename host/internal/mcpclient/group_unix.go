//go:build unix

package mcpclient

import (
	"fmt"
	"io"
	"os/exec"
	"syscall"
)

// A guard ends a program, with all that it has started, when this process ends without having
// done so: by a signal, for example. A program that does not end with its input would stay. It
// is a process of its own, which reads from us: the kernel closes that pipe however we end. That
// the kernel kills the program itself with its parent would not reach what the program has
// started, which is the server where a launcher such as npx starts it.
//
// The program starts in the guard's process group, so that there is no time in which it runs
// unguarded. A program such as timeout makes a group of its own; the guard reads which one may
// be that. It is not ours either: a terminal's Ctrl-C is for us.
type guard struct {
	cmd *exec.Cmd
	in  io.WriteCloser
}

const (
	guardShell  = "/bin/sh"
	guardScript = `trap "" HUP INT TERM; own=$$; while read -r group; do own=$group; done; kill -9 "-$own" 0`
)

// newGuard starts a guard. It returns nil if that fails: the program runs without one.
func newGuard() *guard {
	g := &guard{cmd: exec.Command(guardShell, "-c", guardScript)}
	g.cmd.Env, g.cmd.Dir = []string{}, "/"
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := g.cmd.StdinPipe()
	if err != nil || g.cmd.Start() != nil {
		return nil
	}
	g.in = in
	return g
}

// admit has a program start in the guard's group; without a guard, in one of its own.
func (g *guard) admit(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if g != nil {
		cmd.SysProcAttr.Pgid = g.cmd.Process.Pid
	}
}

// watch says that a program may have a group of its own, by its process.
func (g *guard) watch(process int) {
	if g != nil {
		_, _ = fmt.Fprintln(g.in, process) // it was killed: its group is ended by end
	}
}

// ended says that the program has ended: its number may become that of others.
func (g *guard) ended() {
	if g != nil {
		g.watch(g.cmd.Process.Pid)
	}
}

// end kills a program with all that it has started, and ends the guard. exited says that the
// program has ended by itself.
func (g *guard) end(cmd *exec.Cmd, exited bool) {
	if g == nil || !exited {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // as a rule there is no such group
	}
	g.close()
}

// close ends the guard with its group.
func (g *guard) close() {
	if g != nil {
		_ = syscall.Kill(-g.cmd.Process.Pid, syscall.SIGKILL)
		_ = g.in.Close()
		_ = g.cmd.Wait()
	}
}
