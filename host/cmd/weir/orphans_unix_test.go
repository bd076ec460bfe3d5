//go:build unix

package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/weirhost/weir/internal/testtime"
)

// stubborn is an MCP server that ends neither with its input nor by a signal that can be
// ignored, and starts a program that does not either. Each has the pipe $1 open as long as it
// runs. If weir does not end them, they end by themselves after a while.
const stubborn = `trap '' HUP INT TERM
exec 9>"$1"
sleep 600 >/dev/null 2>&1 &
echo up >&9
while read -r line; do
id=$(printf %s "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
case $line in
*'"initialize"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}}';;
*'"server/discover"'*) echo '{"jsonrpc":"2.0","id":'$id',"error":{"code":-32601,"message":"no such method"}}';;
*'"tools/list"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}}';;
esac
done
exec sleep 600`

// A house is a data folder of a daemon with two stubborn servers.
type house struct {
	*testing.T
	flags []string
	pipe  int // that the servers have open
	up    int // servers that were started so far
}

func newHouse(t *testing.T) *house {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	pipe, err := syscall.Open(fifo, syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(pipe) })
	config := ""
	for _, name := range []string{"one", "two"} {
		config += fmt.Sprintf("[mcpServers.%s]\ncommand = \"/bin/sh\"\nargs = [\"-c\", '''%s''', \"sh\", %q]\n", name, stubborn, fifo)
	}
	file, plugins := filepath.Join(dir, "tools.toml"), filepath.Join(dir, "plugins")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(plugins, 0o700); err != nil {
		t.Fatal(err)
	}
	return &house{T: t, pipe: pipe, flags: []string{"--config", file, "--data", filepath.Join(dir, "data"), "--plugins", plugins}}
}

// runs reads what the servers have written, and reports whether one of their processes runs.
func (h *house) runs() bool {
	var buf [512]byte
	for {
		n, err := syscall.Read(h.pipe, buf[:])
		switch {
		case err == syscall.EINTR:
		case err == syscall.EAGAIN:
			return true
		case err != nil:
			h.Fatal(err)
		case n == 0:
			return false
		default:
			h.up += strings.Count(string(buf[:n]), "\n")
		}
	}
}

// started waits until n servers were started.
func (h *house) started(n int) {
	h.Helper()
	testtime.Until(h, fmt.Sprintf("%d servers are started", n), func() bool { h.runs(); return h.up >= n })
}

// weir starts a command. What it says is in the log of a test that fails.
func (h *house) weir(args ...string) (cmd *exec.Cmd, in io.WriteCloser, out *bufio.Reader) {
	h.Helper()
	cmd = exec.Command("weir", append(h.flags, args...)...)
	said := &locked{}
	cmd.Stderr = said
	in, err := cmd.StdinPipe()
	if err != nil {
		h.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		h.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() {
		_ = cmd.Process.Kill() // it has ended, unless the test has failed
		if h.Failed() {
			h.Logf("weir %s: %s", args[0], said)
		}
	})
	return cmd, in, bufio.NewReader(stdout)
}

// Nothing that weir has started stays when weir has ended, wherever in a take-over and however
// that was.
func TestNoServerStays(t *testing.T) {
	type round struct {
		*house
		serve, client *exec.Cmd
		in            io.WriteCloser
		asks          func(line string)
	}
	stop := func(r round) *exec.Cmd {
		cmd, _, _ := r.weir("stop")
		return cmd
	}
	stopped := func(r round) { _ = stop(r).Wait() } // by a daemon that has ended
	for name, end := range map[string]func(r round){
		"closed while the daemon stops":     func(r round) { cmd := stop(r); r.in.Close(); _ = cmd.Wait() },
		"closed when the daemon has ended":  func(r round) { stopped(r); r.in.Close() },
		"closed when servers start":         func(r round) { stopped(r); r.started(3); r.in.Close() },
		"closed after the take-over":        func(r round) { stopped(r); r.asks("tools/list"); r.in.Close() },
		"killed when servers start":         func(r round) { stopped(r); r.started(3); _ = r.client.Process.Kill() },
		"killed after the take-over":        func(r round) { stopped(r); r.asks("tools/list"); _ = r.client.Process.Kill() },
		"the daemon is killed, then closed": func(r round) { _ = r.serve.Process.Kill(); r.started(3); r.in.Close() },
		"both are killed":                   func(r round) { _ = r.serve.Process.Kill(); _ = r.client.Process.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := round{house: newHouse(t)}
			var out *bufio.Reader
			r.serve, _, _ = r.weir("serve", "--addr", "127.0.0.1:0")
			r.started(2)
			testtime.Until(t, "the daemon is there", func() bool { return exec.Command("weir", append(r.flags, "health")...).Run() == nil })
			r.client, r.in, out = r.weir("mcp")
			r.asks = func(method string) {
				t.Helper()
				params := `{}`
				if method == "initialize" {
					params = `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`
				}
				fmt.Fprintf(r.in, `{"jsonrpc":"2.0","id":%q,"method":%q,"params":%s}`+"\n", method, method, params)
				for line := ""; !strings.Contains(line, fmt.Sprintf(`"id":%q`, method)); {
					var err error
					if line, err = out.ReadString('\n'); err != nil {
						t.Fatal(err)
					}
				}
			}
			r.asks("initialize")
			fmt.Fprintln(r.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			end(r)
			_ = r.serve.Wait() // how it ends is not the matter
			_ = r.client.Wait()
			testtime.Until(t, "no process of the servers is left", func() bool { return !r.runs() })
		})
	}
}
