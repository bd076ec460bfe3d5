package worker

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A worker shares its parent's session, but not its terminal.
func TestAWorkerHasNoTerminal(t *testing.T) {
	leader := asRole("leader")
	c := exec.Command(leader[0], leader[1:]...)
	c.Stdin = terminal(t)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	out, err := c.Output()
	if err != nil || string(out) != "true false" {
		t.Errorf("it has a terminal before and behind: %q, %v", out, err)
	}
}

// terminal returns a terminal that is not read.
func terminal(t *testing.T) *os.File {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = slave.Close() })
	return slave
}
