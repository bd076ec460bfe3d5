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
	s, err := StartServer()
	if err != nil {
		return "", nil, err
	}
	return s.URL, s.Stop, nil
}

// A Server is one that Start starts, which a test can also restart.
type Server struct {
	URL string

	dir, port string
	attr      *syscall.SysProcAttr
	bin       string
	process   *os.Process
	end       chan struct{} // closed when process has ended
}

// StartServer is Start for tests of a server that fails.
func StartServer() (*Server, error) {
	bin, err := Installed()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "weir-postgres-")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, bin: bin, attr: &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT}}
	if err := s.first(); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return s, nil
}

func (s *Server) first() (err error) {
	// The kernel ends the server with the thread that started it: this one stays.
	runtime.LockOSThread()
	if os.Getuid() == 0 { // the server refuses root
		if s.attr.Credential, err = nobody(); err != nil {
			return err
		}
		if err := os.Chown(s.dir, int(s.attr.Credential.Uid), int(s.attr.Credential.Gid)); err != nil {
			return err
		}
	}
	if err := s.fill(); err != nil {
		return err
	}
	for range 3 { // another process may take the port meanwhile
		if s.port, err = freePort(); err != nil {
			return err
		}
		var ended bool
		if ended, err = s.serve(); !ended {
			break
		}
	}
	return err
}

// fill copies what initdb makes into the data folder. The shared folder of tests, if any,
// has it once for each initdb: to copy it takes a third of the processor time.
func (s *Server) fill() error {
	cache := os.Getenv("WEIR_TEST_CACHE") // guesttest's
	info, err := os.Stat(filepath.Join(s.bin, "initdb"))
	if err != nil {
		return err
	}
	kept := filepath.Join(cache, fmt.Sprintf("postgres-%d-%d", info.ModTime().UnixNano(), os.Getuid()))
	if _, err := os.Stat(kept); cache != "" && err == nil {
		return cp(kept, s.data())
	}
	if out, err := s.command("initdb", "-D", s.data(), "-U", "weir", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C").CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	if cache == "" {
		return nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(cache, "new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	made := filepath.Join(temp, "data")
	if err := cp(s.data(), made); err != nil {
		return err
	}
	_ = os.Rename(made, kept) // it is there where another process was first
	return nil
}

// cp copies a folder, with the owners of its files.
func cp(from, to string) error {
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		return fmt.Errorf("cp: %w: %s", err, out)
	}
	return nil
}

func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir, cmd.SysProcAttr = s.dir, s.attr
	return cmd
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// serve starts the server; ended reports that it did not go on.
func (s *Server) serve() (ended bool, err error) {
	server := s.command("postgres", "-D", s.data(), "-c", "listen_addresses=127.0.0.1", "-c", "port="+s.port, "-c", "unix_socket_directories=",
		"-c", "fsync=off", "-c", "full_page_writes=off", "-c", "shared_buffers=16MB", "-c", "max_connections=200", "-c", "autovacuum=off")
	log, err := os.Create(filepath.Join(s.dir, "log"))
	if err != nil {
		return false, err
	}
	defer log.Close()
	server.Stdout, server.Stderr = log, log
	if err := server.Start(); err != nil {
		return false, err
	}
	end := make(chan struct{})
	go func() {
		_ = server.Wait() // the log says why it ended
		close(end)
	}()
	s.process, s.end = server.Process, end
	s.URL = "postgres://weir@127.0.0.1:" + s.port + "/postgres?sslmode=disable"
	if err = ready(s.URL, end); err != nil {
		select {
		case <-end:
			ended = true
		default:
			s.quit()
		}
		said, _ := os.ReadFile(log.Name())
		return ended, fmt.Errorf("%w: %s", err, said)
	}
	return false, nil
}

// quit ends the server as `pg_ctl stop -m immediate` does.
func (s *Server) quit() {
	_ = s.process.Signal(syscall.SIGQUIT)
	<-s.end
}

// Restart does what `pg_ctl restart -m immediate` does. The goroutine must stay until Stop.
func (s *Server) Restart() error {
	runtime.LockOSThread()
	s.quit()
	_, err := s.serve()
	return err
}

// Stop ends the server and removes its folder.
func (s *Server) Stop() {
	s.quit()
	os.RemoveAll(s.dir)
}

// ready waits until the server answers or ends, and makes what URL needs.
func ready(url string, end <-chan struct{}) error {
	db, err := sql.Open("pgx", url+"&connect_timeout=5")
	if err != nil {
		return err
	}
	defer db.Close()
	for last := time.Now().Add(time.Minute); time.Now().Before(last); {
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

// Installed returns the folder with the programs of the newest version. Where PostgreSQL is
// not to be tested, its error says so.
func Installed() (string, error) {
	if wanted() == "no" {
		return "", errLeftOut
	}
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
