//go:build linux && !race && !cgo && (amd64 || arm64)

package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/weirhost/weir/host/internal/confine"
	"github.com/weirhost/weir/host/internal/jail"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/sdk/tool"
)

// Targets are what native code in a child tries to reach.
type targets struct {
	Parent, Other int     // processes
	Secret        uintptr // an address of the parent's
	Dir           string  // holds the files below, and a socket
	Inet, Name    string  // an address, and an abstract socket
}

// secretFiles are what a daemon has in its data folder and beside its settings.
var secretFiles = []string{"token", "archive.db", "tools.toml", ".env"}

// The test plays a guest that has left the engine: native code that runs in a child after it
// is sealed, in each of its roles. It makes system calls of every kind that lead out of the
// process; the arguments of some are wrong on purpose, so that an error of the arguments
// means that the kernel took the call.
func TestNativeCodeReachesNothing(t *testing.T) {
	if w := confine.Offered(); !w.Calls || w.Landlock == 0 {
		t.Skipf("this kernel lacks a wall: %+v", w)
	}
	users := map[string]*syscall.Credential{"this user": nil}
	if os.Geteuid() == 0 {
		users["an ordinary user"] = &syscall.Credential{Uid: 65532, Gid: 65532}
	}
	for name, who := range users {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for at := dir; at != os.TempDir() && at != "/" && who != nil; at = filepath.Dir(at) { // the user must come through
				if info, err := os.Stat(at); err == nil && info.Mode().Perm()&0o001 == 0 {
					if err := os.Chmod(at, info.Mode().Perm()|0o011); err != nil {
						t.Fatal(err)
					}
				}
			}
			if who != nil {
				if err := os.Chown(dir, int(who.Uid), int(who.Gid)); err != nil {
					t.Fatal(err)
				}
			}
			c := exec.Command("/proc/self/exe", "role=fort:"+dir)
			c.SysProcAttr = &syscall.SysProcAttr{Credential: who}
			c.Stderr = os.Stderr
			out, err := c.Output()
			if err != nil {
				t.Fatal(err, string(out))
			}
			var reached map[string][]string
			if err := json.Unmarshal(out, &reached); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			for _, want := range []string{"tgkill the parent", "socket inet", "execve", "open token", "write token", "prlimit the parent", "mmap code"} {
				if !slices.Contains(reached["open"], want) {
					t.Errorf("a child that is not sealed cannot %q, so the test shows nothing: %q", want, reached["open"])
				}
			}
			delete(reached, "open")
			if len(reached) != 5 {
				t.Errorf("there are %d roles", len(reached))
			}
			for role, what := range reached {
				if len(what) > 0 {
					t.Errorf("%s: native code reaches %q", role, what)
				}
			}
		})
	}
}

// A sealed child has the user and the capabilities that its folders need, in every thread.
func TestRightsOfASealedChild(t *testing.T) {
	if w := confine.Offered(); !w.Nobody || !w.Calls {
		t.Skipf("children keep the user here: %+v", w)
	}
	p := newPool(t, nil)
	m := load(t, p, sandbox.Plugin{Name: "holder", Wasm: []byte(holder), Exports: []string{"hold"}})
	dir := t.TempDir()
	const readSearch, overrideAndOwner = "0000000000000004", "000000000000000a"
	for _, row := range []struct {
		mounts    []jail.Mount
		uid, caps string
	}{
		{nil, "65534", "0000000000000000"},
		{[]jail.Mount{{Guest: "/w", Host: dir}}, "0", readSearch},
		{[]jail.Mount{{Guest: "/w", Host: dir, Write: true}}, "0", overrideAndOwner},
	} {
		w, err := p.spawn("holder", row.mounts)
		if err == nil {
			err = m.load(t.Context(), w, row.mounts)
		}
		if err != nil {
			t.Fatal(err)
		}
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", w.cmd.Process.Pid))
		if err != nil || len(threads) < 2 {
			t.Errorf("the child has the threads %q: %v", threads, err)
		}
		want := map[string]string{
			"Uid": strings.Repeat(row.uid+" ", 3) + row.uid, "Gid": strings.Repeat(row.uid+" ", 3) + row.uid, "NoNewPrivs": "1", "Seccomp": "2",
			"CapInh": "0000000000000000", "CapAmb": "0000000000000000", "CapPrm": row.caps, "CapEff": row.caps,
		}
		for _, file := range threads {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(text)) {
				key, value, _ := strings.Cut(line, ":")
				if value = strings.Join(strings.Fields(value), " "); want[key] != "" && want[key] != value {
					t.Errorf("%v: %s is %s, want %s", row.mounts, key, value, want[key])
				}
			}
		}
		w.discard()
	}
}

// fort is a host whose children try to escape: it prints what each role reached.
func fort(dir string) {
	reached, err := besiege(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = json.NewEncoder(os.Stdout).Encode(reached)
}

func besiege(dir string) (map[string][]string, error) {
	ctx := context.Background()
	data, shown := filepath.Join(dir, "data"), filepath.Join(dir, "shown")
	if err := errors.Join(os.Mkdir(data, 0o700), os.Mkdir(shown, 0o700)); err != nil {
		return nil, err
	}
	for _, f := range append(secretFiles, "victim") {
		if err := os.WriteFile(filepath.Join(data, f), []byte("secret"), 0o600); err != nil {
			return nil, err
		}
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	named, err := net.Listen("unix", filepath.Join(data, "socket"))
	if err != nil {
		return nil, err
	}
	abstract := fmt.Sprintf("@weir-escape-%d", os.Getpid())
	hidden, err := net.Listen("unix", abstract)
	if err != nil {
		return nil, err
	}
	cache := filepath.Join(dir, "cache")
	honest, err := New(ctx, Config{Command: []string{"/proc/self/exe"}, CacheDir: cache})
	if err != nil {
		return nil, err
	}
	pl := sandbox.Plugin{Name: "holder", Wasm: []byte(holder), Exports: []string{"hold"}}
	m, err := honest.Load(ctx, pl)
	if err != nil {
		return nil, err
	}
	other, err := honest.spawn("other", nil)
	if err == nil {
		err = m.load(ctx, other, nil)
	}
	if err != nil {
		return nil, err
	}
	secret := []byte("CANARY of the parent's memory")
	text, err := json.Marshal(targets{
		Parent: os.Getpid(), Other: other.cmd.Process.Pid, Secret: uintptr(unsafe.Pointer(&secret[0])), Dir: data,
		Inet: tcp.Addr().String(), Name: abstract,
	})
	if err != nil {
		return nil, err
	}
	reached := make(map[string][]string)
	granted := map[string][]jail.Mount{"reader": {{Guest: "/w", Host: shown}}, "writer": {{Guest: "/w", Host: shown, Write: true}}}
	for _, role := range []string{"guest", "reader", "writer", "compiler", "manifests", "open"} { // the last one destroys what it can
		mounts := granted[role]
		captives, err := New(ctx, Config{Command: []string{"/proc/self/exe", "role=captive:" + role}, CacheDir: cache})
		if err != nil {
			return nil, err
		}
		w, err := captives.spawn("captive", mounts)
		if err != nil {
			return nil, err
		}
		err = w.load(ctx, loadMeta{
			Plugin: string(text), Exports: pl.Exports, Image: m.image(), Cache: captives.cacheOf(), CacheVersion: captives.inspectors[false].CacheVersion(),
			Mounts: metaOf(mounts), Compile: role == "compiler", Task: map[string]Task{"manifests": Manifests}[role],
			Bounds: confine.Bounds{Data: m.data(), CPU: 30, Files: maxFiles},
		}, pl.Wasm)
		var found []string
		if err := json.Unmarshal([]byte(fmt.Sprint(err)), &found); err != nil {
			return nil, fmt.Errorf("%s: %w", role, err)
		}
		reached[role] = found
		w.discard()
		if err := captives.Close(ctx); err != nil {
			return nil, err
		}
	}
	if string(secret) != "CANARY of the parent's memory" {
		return nil, errors.New("the parent's memory was changed")
	}
	other.discard()
	return reached, errors.Join(honest.Close(ctx), tcp.Close(), named.Close(), hidden.Close())
}

// captive is a real child that runs native code as soon as it is sealed.
func captive(role string) {
	code, _ := run(func(c *child) error {
		l, wasm, err := c.begin()
		if err != nil {
			return err
		}
		var to targets
		if err := json.Unmarshal([]byte(l.Plugin), &to); err != nil {
			return err
		}
		switch role {
		case "open":
		case "compiler":
			err = sealCompiler(l.Cache)
		case "manifests":
			err = confine.Seal(confine.Set{})
		default:
			_, err = c.load(l, wasm)
		}
		if err != nil {
			return err
		}
		reached := to.attack(role)
		on := make(chan []string) // and from another thread
		go func() {
			runtime.LockOSThread()
			on <- to.attack(role)
		}()
		for _, what := range <-on {
			if !slices.Contains(reached, what) {
				reached = append(reached, what)
			}
		}
		text, err := json.Marshal(append([]string{}, reached...))
		if err != nil {
			return err
		}
		return c.out.Write(kindReady, readyMeta{Refused: msg.ToWire(tool.Textf("%s", string(text)))}, nil)
	})
	os.Exit(code)
}

// attack returns what could be reached.
func (to targets) attack(role string) (reached []string) {
	try := func(name string, number uintptr, args ...uintptr) uintptr {
		var a [6]uintptr
		copy(a[:], args)
		r, _, errno := syscall.RawSyscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
		if !slices.Contains([]syscall.Errno{unix.EPERM, unix.EACCES, unix.ENOSYS}, errno) {
			reached = append(reached, name)
			return r
		}
		return ^uintptr(0)
	}
	parent, other := uintptr(to.Parent), uintptr(to.Other)
	to.memory(try, parent)
	to.signals(try, parent, other)
	to.files(try)
	if role == "reader" || role == "writer" {
		for _, f := range secretFiles {
			try("climb to "+f, unix.SYS_OPENAT, fdMount, text("../data/"+f), unix.O_RDONLY)
		}
	}
	to.sockets(try)
	to.programs(try)
	for name, who := range map[string]uintptr{"the parent": parent, "another worker": other} {
		limit := unix.Rlimit{}
		try("prlimit "+name, unix.SYS_PRLIMIT64, who, unix.RLIMIT_NOFILE, 0, at(&limit))
		try("setpriority "+name, unix.SYS_SETPRIORITY, unix.PRIO_PROCESS, who, 0)
		try("sched_setscheduler "+name, unix.SYS_SCHED_SETSCHEDULER, who, 99, 0)
		try("ioprio_set "+name, unix.SYS_IOPRIO_SET, 1, who, 0)
	}
	for name, number := range kernelCalls() {
		try(name, number, bad, bad, bad, bad, bad, bad)
	}
	if role != "compiler" {
		if p := try("mmap code", unix.SYS_MMAP, 0, 4096, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANON, bad); p != ^uintptr(0) {
			_, _, _ = syscall.RawSyscall(unix.SYS_MUNMAP, p, 4096, 0)
		}
		try("mprotect code", unix.SYS_MPROTECT, 4096, 4096, unix.PROT_READ|unix.PROT_EXEC)
	}
	try("mprotect writable code", unix.SYS_MPROTECT, 4096, 4096, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC)
	try("mmap shared memory", unix.SYS_MMAP, 0, 4096, unix.PROT_READ, unix.MAP_SHARED|unix.MAP_ANON, bad)
	try("mmap a stack", unix.SYS_MMAP, 0, 4096, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_GROWSDOWN, bad)
	try("mmap another file", unix.SYS_MMAP, 0, 4096, unix.PROT_READ, unix.MAP_PRIVATE, fdIn)
	return reached
}

// bad is an argument that nothing takes.
const bad = ^uintptr(0)

func at[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }

func text(s string) uintptr {
	b := append([]byte(s), 0)
	return uintptr(unsafe.Pointer(&b[0]))
}

type attempt func(name string, number uintptr, args ...uintptr) uintptr

func (to targets) memory(try attempt, parent uintptr) {
	buf := make([]byte, 6)
	local := unix.Iovec{Base: &buf[0], Len: 6}
	remote := unix.RemoteIovec{Base: to.Secret, Len: 6}
	try("read the parent's memory", unix.SYS_PROCESS_VM_READV, parent, at(&local), 1, at(&remote), 1, 0)
	try("write the parent's memory", unix.SYS_PROCESS_VM_WRITEV, parent, at(&local), 1, at(&remote), 1, 0)
	try("ptrace the parent", unix.SYS_PTRACE, unix.PTRACE_SEIZE, parent, 0, bad)
	try("ptrace itself", unix.SYS_PTRACE, bad, 0, 0, 0)
	for name, pid := range map[string]int{"the parent": to.Parent, "another worker": to.Other} {
		for _, f := range []string{"mem", "environ", "maps", "fd", "cmdline", "root", "cwd"} {
			try("open "+f+" of "+name, unix.SYS_OPENAT, bad, text(fmt.Sprintf("/proc/%d/%s", pid, f)), unix.O_RDONLY)
		}
		if fd := try("pidfd_open "+name, unix.SYS_PIDFD_OPEN, uintptr(pid), 0); fd != bad {
			try("pidfd_getfd "+name, unix.SYS_PIDFD_GETFD, fd, 3, 0)
			try("pidfd_send_signal "+name, unix.SYS_PIDFD_SEND_SIGNAL, fd, 0, 0, 0)
		}
	}
	try("pidfd_getfd", unix.SYS_PIDFD_GETFD, bad, 3, 0)
	try("pidfd_send_signal", unix.SYS_PIDFD_SEND_SIGNAL, bad, 0, 0, 0)
}

func (to targets) signals(try attempt, parent, other uintptr) {
	var info [128]byte
	for name, pid := range map[string]uintptr{"the parent": parent, "another worker": other} {
		try("kill "+name, unix.SYS_KILL, pid, 0)
		try("tkill "+name, unix.SYS_TKILL, pid, 0)
		try("tgkill "+name, unix.SYS_TGKILL, pid, pid, 0)
		try("rt_sigqueueinfo "+name, unix.SYS_RT_SIGQUEUEINFO, pid, 0, at(&info))
		try("rt_tgsigqueueinfo "+name, unix.SYS_RT_TGSIGQUEUEINFO, pid, pid, 0, at(&info))
		try("own a pipe for "+name, unix.SYS_FCNTL, fdIn, unix.F_SETOWN, pid)
	}
	try("kill a group", unix.SYS_KILL, 0, 0)
	try("kill all", unix.SYS_KILL, bad, 0)
	try("signals of a pipe", unix.SYS_FCNTL, fdIn, unix.F_SETFL, unix.O_ASYNC)
	try("choose a signal", unix.SYS_FCNTL, fdIn, unix.F_SETSIG, 9)
}

func (to targets) files(try attempt) {
	here := bad
	for _, f := range secretFiles {
		try("open "+f, unix.SYS_OPENAT, here, text(filepath.Join(to.Dir, f)), unix.O_RDONLY)
		try("write "+f, unix.SYS_OPENAT, here, text(filepath.Join(to.Dir, f)), unix.O_RDWR)
	}
	for _, f := range []string{"/etc/passwd", "/proc/self/environ", "/proc/self/maps", "/dev/null", "/"} {
		try("open "+f, unix.SYS_OPENAT, here, text(f), unix.O_RDONLY)
	}
	victim := filepath.Join(to.Dir, "victim")
	try("create a file", unix.SYS_OPENAT, here, text(victim+"2"), unix.O_WRONLY|unix.O_CREAT, 0o600)
	try("make a folder", unix.SYS_MKDIRAT, here, text(victim+"3"), 0o700)
	try("make a link", unix.SYS_SYMLINKAT, text("/"), here, text(victim+"4"))
	try("make a second name", unix.SYS_LINKAT, here, text(victim), here, text(victim+"5"), 0)
	try("make a device", unix.SYS_MKNODAT, here, text(victim+"6"), unix.S_IFIFO|0o600, 0)
	try("change the mode", unix.SYS_FCHMODAT, here, text(victim), 0o666)
	try("change the owner", unix.SYS_FCHOWNAT, here, text(victim), bad, bad, 0)
	try("change times", unix.SYS_UTIMENSAT, here, text(victim), 0, 0)
	try("set an attribute", unix.SYS_SETXATTR, text(victim), text("user.x"), 0, 0, 0)
	try("truncate", unix.SYS_TRUNCATE, text(victim), 0)
	try("rename", unix.SYS_RENAMEAT, here, text(victim), here, text(victim+"7"))
	try("remove", unix.SYS_UNLINKAT, here, text(victim), 0)
}

func (to targets) sockets(try attempt) {
	for name, family := range map[string]uintptr{"inet": unix.AF_INET, "inet6": unix.AF_INET6, "unix": unix.AF_UNIX, "netlink": unix.AF_NETLINK, "packet": unix.AF_PACKET, "vsock": unix.AF_VSOCK} {
		fd := try("socket "+name, unix.SYS_SOCKET, family, unix.SOCK_STREAM, 0)
		if fd != bad {
			_, _, _ = syscall.RawSyscall(unix.SYS_CLOSE, fd, 0, 0)
		}
	}
	for _, address := range []string{filepath.Join(to.Dir, "socket"), to.Name} {
		if c, err := net.Dial("unix", address); err == nil {
			_ = c.Close()
			try("connect to "+address, unix.SYS_GETPID)
		}
	}
	try("socketpair", unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_STREAM, 0, 0)
	for name, number := range map[string]uintptr{"connect": unix.SYS_CONNECT, "bind": unix.SYS_BIND, "listen": unix.SYS_LISTEN, "accept4": unix.SYS_ACCEPT4, "sendto": unix.SYS_SENDTO, "sendmsg": unix.SYS_SENDMSG, "recvmsg": unix.SYS_RECVMSG} {
		try(name, number, fdIn, 0, 0)
	}
}

func (to targets) programs(try attempt) {
	try("execve", unix.SYS_EXECVE, text("/no/such/program"), 0, 0)
	try("execveat", unix.SYS_EXECVEAT, bad, text("/no/such/program"), 0, 0, 0)
	try("clone a process", unix.SYS_CLONE, unix.CLONE_SIGHAND) // the kernel refuses these flags by EINVAL
	try("clone3", unix.SYS_CLONE3, 0, 0)
	try("a namespace", unix.SYS_UNSHARE, 1)
	try("clone a namespace", unix.SYS_CLONE, unix.CLONE_NEWUSER|unix.CLONE_THREAD)
}

// kernelCalls are calls that lead to parts of the kernel that no child needs.
func kernelCalls() map[string]uintptr {
	calls := map[string]uintptr{
		"memfd_create": unix.SYS_MEMFD_CREATE, "memfd_secret": unix.SYS_MEMFD_SECRET, "userfaultfd": unix.SYS_USERFAULTFD,
		"io_uring_setup": unix.SYS_IO_URING_SETUP, "io_uring_enter": unix.SYS_IO_URING_ENTER, "io_uring_register": unix.SYS_IO_URING_REGISTER,
		"bpf": unix.SYS_BPF, "perf_event_open": unix.SYS_PERF_EVENT_OPEN, "keyctl": unix.SYS_KEYCTL, "add_key": unix.SYS_ADD_KEY, "request_key": unix.SYS_REQUEST_KEY,
		"mount": unix.SYS_MOUNT, "umount2": unix.SYS_UMOUNT2, "fsopen": unix.SYS_FSOPEN, "open_tree": unix.SYS_OPEN_TREE, "move_mount": unix.SYS_MOVE_MOUNT, "mount_setattr": unix.SYS_MOUNT_SETATTR,
		"setns": unix.SYS_SETNS, "chroot": unix.SYS_CHROOT, "chdir": unix.SYS_CHDIR, "pivot_root": unix.SYS_PIVOT_ROOT, "personality": unix.SYS_PERSONALITY,
		"quotactl": unix.SYS_QUOTACTL, "kcmp": unix.SYS_KCMP, "init_module": unix.SYS_INIT_MODULE, "kexec_load": unix.SYS_KEXEC_LOAD,
		"name_to_handle_at": unix.SYS_NAME_TO_HANDLE_AT, "open_by_handle_at": unix.SYS_OPEN_BY_HANDLE_AT, "openat2": unix.SYS_OPENAT2,
		"shmget": unix.SYS_SHMGET, "msgget": unix.SYS_MSGGET, "semget": unix.SYS_SEMGET, "mq_open": unix.SYS_MQ_OPEN,
		"inotify_init1": unix.SYS_INOTIFY_INIT1, "fanotify_init": unix.SYS_FANOTIFY_INIT, "syslog": unix.SYS_SYSLOG, "acct": unix.SYS_ACCT,
		"clock_settime": unix.SYS_CLOCK_SETTIME, "adjtimex": unix.SYS_ADJTIMEX, "sethostname": unix.SYS_SETHOSTNAME, "swapon": unix.SYS_SWAPON,
		"setresuid": unix.SYS_SETRESUID, "setresgid": unix.SYS_SETRESGID, "setgroups": unix.SYS_SETGROUPS, "capset": unix.SYS_CAPSET,
		"prctl": unix.SYS_PRCTL, "seccomp": unix.SYS_SECCOMP, "landlock_restrict_self": unix.SYS_LANDLOCK_RESTRICT_SELF,
		"process_madvise": unix.SYS_PROCESS_MADVISE, "move_pages": unix.SYS_MOVE_PAGES, "migrate_pages": unix.SYS_MIGRATE_PAGES, "mremap": unix.SYS_MREMAP, "remap_file_pages": unix.SYS_REMAP_FILE_PAGES,
		"mlock": unix.SYS_MLOCK, "splice": unix.SYS_SPLICE, "tee": unix.SYS_TEE, "vmsplice": unix.SYS_VMSPLICE, "dup3": unix.SYS_DUP3,
		"timer_create": unix.SYS_TIMER_CREATE, "get_robust_list": unix.SYS_GET_ROBUST_LIST, "setrlimit": unix.SYS_SETRLIMIT, "ioctl": unix.SYS_IOCTL,
		"io_setup": unix.SYS_IO_SETUP, "pkey_mprotect": unix.SYS_PKEY_MPROTECT, "signalfd4": unix.SYS_SIGNALFD4, "wait4": unix.SYS_WAIT4,
	}
	if runtime.GOARCH == "amd64" {
		calls["iopl"], calls["modify_ldt"], calls["open"] = 172, 154, 2
		calls["the x32 ABI"] = 0x40000000 + 1
	}
	return calls
}
