package confine

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"unsafe"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// Seal leaves to this process what is in the Set and nothing else. A wall that the kernel
// does not have is no error; one that it has and refuses is. A program that was built with
// cgo is not sealed.
func Seal(s Set) error {
	if raced || linked {
		return nil
	}
	if err := enclose(s); err != nil {
		return err
	}
	if err := disown(s); err != nil {
		return err
	}
	if err := Hide(); err != nil { // again, for another user has other rules
		return err
	}
	return filter(s)
}

// enclose lets this process open files in the folders of the Set and nowhere else, and
// reach no network and no other process.
func enclose(s Set) error {
	if Landlock() == 0 {
		return nil
	}
	const read = landlock.AccessFSSet(ll.AccessFSReadFile | ll.AccessFSReadDir)
	c := landlock.V11.BestEffort()
	var rules []landlock.Rule
	for _, f := range s.Folders {
		access := read
		if f.Write {
			access = c.HandledAccessFS &^ (ll.AccessFSExecute | ll.AccessFSIoctlDev | ll.AccessFSResolveUnix)
		}
		if Landlock() < 2 {
			access &^= ll.AccessFSRefer
		}
		rules = append(rules, landlock.PathAccess(access, Path(f.FD)))
	}
	if err := c.Restrict(rules...); err != nil {
		return fmt.Errorf("its folders cannot be walled in: %w", err)
	}
	return nil
}

// Landlock returns the version of the kernel's Landlock; 0: it has none.
func Landlock() int {
	v, err := ll.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	return v
}

// Offered returns the walls that this system has.
func Offered() (w Walls) {
	w.Root, w.Linked = os.Geteuid() == 0, linked
	if raced || linked {
		return w
	}
	has, err := permitted()
	w.Calls, w.Landlock = filters(), Landlock()
	w.Nobody = w.Root && err == nil && has&switching == switching && mapped(nobody)
	return w
}

// mapped reports whether the user namespace of this process has a user.
func mapped(id uint64) bool {
	table, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(table)) {
		var first, outside, n uint64
		if _, err := fmt.Sscan(line, &first, &outside, &n); err == nil && first <= id && id-first < n {
			return true
		}
	}
	return false
}

// nobody is the user and the group of a child that needs no files, where its parent is root.
const nobody = 65534

// switching are the capabilities to become another user. Without the last one the parent
// could not kill a child of another user.
const switching = 1<<unix.CAP_SETUID | 1<<unix.CAP_SETGID | 1<<unix.CAP_KILL

// disown gives up the user, if that is root and the child has no folders, and every
// capability that the folders do not need.
func disown(s Set) error {
	has, err := permitted()
	if err != nil {
		return err
	}
	if os.Geteuid() == 0 && len(s.Folders) == 0 && has&switching == switching {
		if err := become(nobody); err != nil {
			return err
		}
		has = 0 // with the user
	}
	return keep(has & s.capabilities())
}

// capabilities returns what the folders need, where root shows files of other users.
func (s Set) capabilities() (need uint64) {
	for _, f := range s.Folders {
		switch {
		case f.Own:
		case f.Write:
			need |= 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER
		default:
			need |= 1 << unix.CAP_DAC_READ_SEARCH
		}
	}
	return need
}

// become makes this process one of another user and group. A user namespace that has no such
// user keeps its own.
func become(id int) error {
	parent := os.Getppid()
	err := syscall.Setgroups(nil)
	if err == nil {
		err = syscall.Setresgid(id, id, id)
	}
	if err == nil {
		err = syscall.Setresuid(id, id, id)
	}
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.EPERM) {
		return nil
	}
	if err != nil {
		return err
	}
	// The kernel forgets with the user that a child ends with its parent.
	if _, _, errno := syscall.AllThreadsSyscall(syscall.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0); errno != 0 {
		return errno
	}
	if os.Getppid() != parent {
		return errors.New("its parent has ended")
	}
	return nil
}

// permitted returns the capabilities that this process may use, as bits.
func permitted() (uint64, error) {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&head, &data[0]); err != nil {
		return 0, err
	}
	return uint64(data[1].Permitted)<<32 | uint64(data[0].Permitted), nil
}

// keep gives up all capabilities but those, in every thread.
func keep(caps uint64) error {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	data := [2]unix.CapUserData{
		{Effective: uint32(caps), Permitted: uint32(caps)},
		{Effective: uint32(caps >> 32), Permitted: uint32(caps >> 32)},
	}
	if _, _, errno := syscall.AllThreadsSyscall(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&head)), uintptr(unsafe.Pointer(&data[0])), 0); errno != 0 {
		return errno
	}
	return nil
}

// childCaps are the capabilities that a child of root may use before it is sealed.
const childCaps = 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH | 1<<unix.CAP_FOWNER | switching

// limitChildren takes from what this thread starts all capabilities but childCaps. Only a
// privileged thread can, and only its children have any.
func limitChildren() {
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	for c := range 64 {
		if uint64(1)<<c&childCaps == 0 && unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0) != nil {
			return
		}
	}
}
