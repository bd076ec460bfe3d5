package mcpclient

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weirhost/weir/host/internal/lines"
	"github.com/weirhost/weir/sdk/tool"
)

// A process is one run of a server's program. The SDK's transport ends at the first line of
// its output that is not a message, but programs also print other lines there. A process logs
// and skips these.
type process struct {
	cmd  *exec.Cmd
	said said
	in   *os.File
	out  *messageReader
	errs *os.File
	log  *outputLog // of its standard error

	guard  *guard
	exited chan struct{} // closed when the process has ended
	read   chan struct{} // closed when its standard error has
	once   sync.Once
	why    tool.Text // of end
}

func newProcess(s *Server) *process {
	p := &process{cmd: exec.Command(s.cfg.Command, s.cfg.Args...), exited: make(chan struct{}), read: make(chan struct{})}
	p.cmd.Dir = s.cfg.Dir
	p.cmd.Env = []string{} // nil would be all of ours
	for _, name := range inherited() {
		if v, ok := os.LookupEnv(name); ok {
			p.cmd.Env = append(p.cmd.Env, name+"="+v)
		}
	}
	for name, v := range s.cfg.Env {
		p.cmd.Env = append(p.cmd.Env, name+"="+v) // after the inherited ones: the last one counts
	}
	p.out = &messageReader{log: &outputLog{server: s, said: &p.said}}
	p.log = &outputLog{server: s, said: &p.said}
	return p
}

// Connect implements mcp.Transport.
func (p *process) Connect(ctx context.Context) (mcp.Connection, error) {
	if err := p.start(); err != nil {
		return nil, err
	}
	t := mcp.IOTransport{Reader: p.out, Writer: &input{p.in, p}, MaxLineLength: 3 * MaxBytes} // which withRaw may need
	return t.Connect(ctx)
}

// start starts the program. It makes the pipes itself: those of package exec close with the
// process, before its last lines are read.
func (p *process) start() error {
	var theirs []io.Closer
	defer func() {
		for _, f := range theirs {
			_ = f.Close() // the program has its own
		}
	}()
	var err error
	pipe := func() (r, w *os.File) {
		if err == nil {
			if r, w, err = os.Pipe(); err == nil {
				theirs = append(theirs, r, w)
			}
		}
		return r, w
	}
	in, ours := pipe()
	out, stdout := pipe()
	errs, stderr := pipe()
	if err != nil {
		return err
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = in, stdout, stderr
	g := newGuard()
	g.admit(p.cmd)
	if err := p.cmd.Start(); err != nil {
		g.close()
		return err
	}
	g.watch(p.cmd.Process.Pid)
	theirs = []io.Closer{in, stdout, stderr}
	p.guard, p.in, p.errs = g, ours, errs
	p.out.file, p.out.r = out, bufio.NewReaderSize(out, 64<<10)
	go func() {
		defer close(p.exited)
		_ = p.cmd.Wait() // ProcessState says how it ended
		g.ended()
	}()
	go func() {
		defer close(p.read)
		_, _ = io.Copy(p.log, errs) // until its end, or until end closes it
		p.log.flush()
	}()
	return nil
}

// end ends the program in the order of the protocol: it closes the input, sends SIGTERM, then
// kills the program with all that it has started. It returns when the output has been read to
// its end, with the reason why the program ended. A program that was not started
// has none.
func (p *process) end() tool.Text {
	p.once.Do(func() {
		if p.in == nil {
			return
		}
		_ = p.in.Close() // it may have ended already
		exited := p.exitsWithin(endTime)
		asked := !exited
		if asked {
			_ = p.cmd.Process.Signal(syscall.SIGTERM) // the system may have no such signal
			exited = p.exitsWithin(endTime)
		}
		p.guard.end(p.cmd, exited)
		_ = p.cmd.Process.Kill() // where there are no groups
		<-p.exited
		// What has left the group may hold the output open.
		give := time.AfterFunc(endTime, func() { _ = p.errs.Close(); _ = p.out.file.Close() })
		<-p.read
		p.out.drain()
		give.Stop()
		_ = p.errs.Close() // again, perhaps
		_ = p.out.file.Close()
		p.why = p.reason(asked)
	})
	return p.why
}

func (p *process) exitsWithin(d time.Duration) bool {
	select {
	case <-p.exited:
		return true
	case <-time.After(d):
		return false
	}
}

// reason returns how the program ended, with its last lines. asked says that we ended it.
func (p *process) reason(asked bool) tool.Text {
	why := tool.Textf("the program ended with code %d", p.cmd.ProcessState.ExitCode())
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		why = tool.Textf("the program was ended by the signal %q", status.Signal().String())
	}
	if asked {
		why = tool.Textf("the program closed its output")
	}
	return p.withLines(why)
}

// withLines adds the program's last lines to a sentence.
func (p *process) withLines(why tool.Text) tool.Text {
	if lines := p.said.String(); lines != "" {
		return tool.Textf("%v; its last lines: %s", why, lines)
	}
	return why
}

// An input is a program's standard input. Its Close also ends the program.
type input struct {
	io.Writer
	of *process
}

// Close implements io.Closer.
func (i *input) Close() error {
	i.of.end()
	return nil
}

// A messageReader reads messages, one per line, and skips other lines. It is safe for
// concurrent use.
type messageReader struct {
	file *os.File // that is read
	mu   sync.Mutex
	r    *bufio.Reader
	log  *outputLog
	rest []byte // of a message
	long []byte // the beginning of a line whose rest is skipped
}

// Read implements io.Reader.
func (s *messageReader) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.rest) == 0 {
		if s.long != nil {
			if err := lines.Skip(s.r, s.long); err != nil {
				return 0, err
			}
			s.long = nil
		}
		line, err := lines.Begin(s.r, MaxBytes)
		if errors.Is(err, lines.ErrLong) {
			of := s.log.server
			of.log.Warn("a message of another server is too long and was passed over", "server", of.cfg.Name, "most_bytes", MaxBytes)
			s.rest = ended(refused(line, ErrLong))
			s.long = line[len(line)-1:]
			continue
		}
		if err == nil && !s.log.server.unasked.admits(line) {
			continue
		}
		line = bounded(line)
		switch {
		case isMessage(line):
			s.rest = ended(withRaw(line))
		case err != nil:
			_, _ = s.log.Write(line) // which never fails
			s.log.flush()
			return 0, err
		default:
			_, _ = s.log.Write(line)
			s.rest = ended(refused(line, errUnusable))
		}
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// drain reads to the end, for the lines that are no messages.
func (s *messageReader) drain() { _, _ = io.Copy(io.Discard, struct{ io.Reader }{s}) }

// ended returns a message with its end: the SDK accepts nothing else after one. It
// returns nil for none.
func ended(message []byte) []byte {
	if len(message) == 0 {
		return nil
	}
	return append(bytes.Clone(bytes.TrimSpace(message)), '\n')
}

// Close implements io.Closer; the program's end closes what is read.
func (s *messageReader) Close() error { return nil }

// isMessage reports whether the SDK can read a line: one message or several.
func isMessage(line []byte) bool {
	line = bytes.TrimSpace(line)
	if !bytes.HasPrefix(line, []byte("[")) {
		_, err := jsonrpc.DecodeMessage(line)
		return err == nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(line, &list); err != nil || len(list) == 0 {
		return false
	}
	return !slices.ContainsFunc(list, func(m json.RawMessage) bool { _, err := jsonrpc.DecodeMessage(m); return err != nil })
}
