package mcpclient

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weirhost/weir/host/internal/lines"
	"github.com/weirhost/weir/host/internal/msg"
)

// A command is a server program with its standard input and output. The SDK's
// transport ends at the first line that is not a message, but programs also print
// other lines there. A command logs and skips these.
type command struct {
	cmd *exec.Cmd
	log *outputLog
}

// Connect implements mcp.Transport.
func (c *command) Connect(ctx context.Context) (mcp.Connection, error) {
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	in, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	t := mcp.IOTransport{Reader: &messageReader{r: bufio.NewReaderSize(out, 64<<10), log: c.log}, Writer: &input{in, c.cmd}, MaxLineLength: MaxBytes}
	return t.Connect(ctx)
}

// An input is a program's standard input. Its Close also ends the program.
type input struct {
	io.WriteCloser
	cmd *exec.Cmd
}

// Close ends the program in the order of the protocol: it closes the input, sends
// SIGTERM, then kills the program. The error is how the program ended.
func (i *input) Close() error {
	_ = i.WriteCloser.Close() // it may have ended already
	ended := make(chan error, 1)
	go func() { ended <- i.cmd.Wait() }()
	for _, end := range []func() error{
		func() error { return nil },
		func() error { return i.cmd.Process.Signal(syscall.SIGTERM) },
		i.cmd.Process.Kill,
	} {
		_ = end() // it may be gone, or the system has no such signal
		select {
		case err := <-ended:
			return err
		case <-time.After(endTime):
		}
	}
	return msg.Errorf("the program does not end")
}

// A messageReader reads messages, one per line, and skips other lines. It is not
// safe for concurrent use.
type messageReader struct {
	r    *bufio.Reader
	log  *outputLog
	rest []byte // of a message
	long []byte // the beginning of a line whose rest is skipped
}

// Read implements io.Reader.
func (s *messageReader) Read(p []byte) (int, error) {
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
			s.rest = ended(line)
		case err != nil:
			return 0, err
		default:
			_, _ = s.log.Write(line) // which never fails
			s.rest = ended(refused(line, errUnusable))
		}
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

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
