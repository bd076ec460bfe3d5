package pgtest

import (
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// Start starts a server that writes to a temporary folder, and syncs nothing to disk.
func Start() (url string, stop func(), err error) {
	bin, err := Installed()
	if err != nil {
		return "", nil, err
	}
	dir, err := os.MkdirTemp("", "weir-postgres-")
	if err != nil {
		return "", nil, err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(dir)
		}
	}()
	// The kernel ends the server with the thread that started it: this one stays.
	runtime.LockOSThread()
	attr := &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT}
	if os.Getuid() == 0 { // the server refuses root
		if attr.Credential, err = nobody(); err != nil {
			return "", nil, err
		}
		if err := os.Chown(dir, int(attr.Credential.Uid), int(attr.Credential.Gid)); err != nil {
			return "", nil, err
		}
	}
	command := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(bin, name), args...)
		cmd.Dir, cmd.SysProcAttr = dir, attr
		return cmd
	}
	data := filepath.Join(dir, "data")
	if out, err := command("initdb", "-D", data, "-U", "weir", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C").CombinedOutput(); err != nil {
		return "", nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	for range 3 { // another process may take the port meanwhile
		var ended bool
		if url, stop, ended, err = serve(command, dir, data); !ended {
			break
		}
	}
	return url, stop, err
}

// serve starts the server on a free port; ended reports that it did not go on.
func serve(command func(string, ...string) *exec.Cmd, dir, data string) (url string, stop func(), ended bool, err error) {
	port, err := freePort()
	if err != nil {
		return "", nil, false, err
	}
	server := command("postgres", "-D", data, "-c", "listen_addresses=127.0.0.1", "-c", "port="+port, "-c", "unix_socket_directories=",
		"-c", "fsync=off", "-c", "full_page_writes=off", "-c", "shared_buffers=16MB", "-c", "max_connections=200", "-c", "autovacuum=off")
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return "", nil, false, err
	}
	defer log.Close()
	server.Stdout, server.Stderr = log, log
	if err := server.Start(); err != nil {
		return "", nil, false, err
	}
	end := make(chan struct{})
	go func() {
		_ = server.Wait() // the log says why it ended
		close(end)
	}()
	quit := func() {
		_ = server.Process.Signal(syscall.SIGQUIT)
		<-end
	}
	url = "postgres://weir@127.0.0.1:" + port + "/postgres?sslmode=disable"
	if err = ready(url, end); err != nil {
		select {
		case <-end:
			ended = true
		default:
			quit()
		}
		said, _ := os.ReadFile(log.Name())
		return "", nil, ended, fmt.Errorf("%w: %s", err, said)
	}
	return url, func() { quit(); os.RemoveAll(dir) }, false, nil
}

// ready waits until the server answers or ends, and makes what URL needs.
func ready(url string, end <-chan struct{}) error {
	db, err := sql.Open("pgx", url+"&connect_timeout=5")
	if err != nil {
		return err
	}
	defer db.Close()
	for began := time.Now(); time.Since(began) < time.Minute; {
		if _, err = db.Exec("CREATE SEQUENCE IF NOT EXISTS tests"); err == nil {
			return nil
		}
		select {
		case <-end:
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
	return err
}

// Installed returns the folder with the programs of the newest version.
func Installed() (string, error) {
	// Debian's folders, of which the client makes some too; the pattern is valid.
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) > 0 {
		return filepath.Dir(found[len(found)-1]), nil
	}
	path, err := exec.LookPath("initdb")
	if err != nil {
		return "", ErrMissing
	}
	path, err = filepath.EvalSymlinks(path)
	return filepath.Dir(path), err
}

func nobody() (*syscall.Credential, error) {
	u, err := user.Lookup("nobody")
	if err != nil {
		return nil, err
	}
	uid, err1 := strconv.Atoi(u.Uid)
	gid, err2 := strconv.Atoi(u.Gid)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, errors.Join(err1, err2)
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port), nil
}
