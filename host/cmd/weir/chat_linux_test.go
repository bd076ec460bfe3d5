package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/internal/testtime"
)

// wide gives the terminal a width, as a real one has.
func (p *pty) wide(columns uint16) *pty {
	p.Helper()
	size := [4]uint16{24, columns}
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, p.slave.Fd(), syscall.TIOCSWINSZ, uintptr(unsafe.Pointer(&size))); errno != 0 {
		p.Fatal(errno)
	}
	return p
}

// at starts a command whose terminal this is.
func (p *pty) at(cmd *exec.Cmd, env ...string) *exec.Cmd {
	p.Helper()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.slave, p.slave, p.slave
	cmd.Env = append(cmd.Env, env...)
	if err := cmd.Start(); err != nil {
		p.Fatal(err)
	}
	return cmd
}

// prompt waits until a line can be typed: until then Ctrl-C would be a signal, with
// which the kernel forgets what was typed before it.
func (p *pty) prompt() string {
	p.Helper()
	shown := p.until("\x1b[?2004h")
	testtime.Until(p, "keys are read one by one", func() bool {
		var mode syscall.Termios
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, p.slave.Fd(), syscall.TCGETS, uintptr(unsafe.Pointer(&mode))); errno != 0 {
			p.Fatal(errno)
		}
		return mode.Lflag&syscall.ISIG == 0
	})
	return shown
}

// talker answers with what it was asked last.
func talker(t *testing.T) (dir string) {
	srv := httptest.NewServer(http.HandlerFunc(echoModel))
	t.Cleanup(srv.Close)
	dir = t.TempDir()
	config := fmt.Sprintf("[agent]\nmodel = \"m\"\n[models.m]\nprovider = \"openai\"\nbase_url = %q\nkey = \"k\"\nmodel = \"m\"\nwindow = 32768\nnative_tools = false\n", srv.URL)
	if err := os.WriteFile(filepath.Join(dir, "tools.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A person edits a question with the keys of every terminal: the earlier ones
// come back, Chinese is two columns wide, a paste keeps its lines.
func TestChatEditsLines(t *testing.T) {
	dir := talker(t)
	for _, columns := range []uint16{80, 40} {
		p := openPTY(t).wide(columns)
		cmd := p.at(weir(t, dir, "chat"))
		p.prompt()
		p.type_("first qXuestion\x1b[D\x1b[D\x1b[D\x1b[D\x1b[D\x1b[D\x1b[D\x7f\r")
		p.until("heard <first question>")
		p.prompt()
		p.type_("\x1b[A\r") // the arrow up
		p.until("heard <first question>")
		p.prompt()
		p.type_("你好世界\x1b[D\x1b[D\x7f\r")
		p.until("heard <你世界>")
		p.prompt()
		p.type_("\x1b[200~one\r\ntwo\tx\n\x1b[201~ and\x1b\rthree\r")
		p.until("heard <one|two    x and|three>")
		p.prompt()
		p.type_("/he\t")
		p.until("/help")
		p.type_("\r")
		p.until("Ctrl-C stops an answer.")
		p.prompt()
		p.type_("\x04")
		if err := cmd.Wait(); err != nil {
			t.Errorf("%d columns: %v", columns, err)
		}
	}
	file := filepath.Join(dir, "data", "chat_history")
	st, err := os.Stat(file)
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st, err)
	}
	text, err := os.ReadFile(file)
	if want := "first question\nfirst question\n你世界\none⏎two    x and⏎three\n/help\n"; err != nil || string(text) != want+want {
		t.Errorf("%q, %v", text, err)
	}
}

// What was typed comes back in the next chat, unless it was not to be kept.
func TestChatHistory(t *testing.T) {
	dir := talker(t)
	talk := func(typed string, want string, args ...string) {
		t.Helper()
		p := openPTY(t).wide(80)
		cmd := p.at(weir(t, dir, append([]string{"chat"}, args...)...))
		p.prompt()
		p.type_(typed + "\r")
		p.until("heard <" + want + ">")
		p.prompt()
		p.type_("/quit\r")
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	talk("kept", "kept")
	talk("not kept", "not kept", "--no-history")
	talk(" nor this", "nor this")
	talk("\x1b[A\x1b[A\x1b[A", "kept") // after it: /quit, /quit
}

// Ctrl-C stops the answer and not the chat; twice in place of a line it leaves.
func TestChatIsStopped(t *testing.T) {
	dir := talker(t)
	p := openPTY(t).wide(80)
	cmd := p.at(weir(t, dir, "chat"))
	p.prompt()
	p.type_("speak for ever\r")
	p.until("and on and on")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	p.until("stopped; the answer until then is saved")
	p.prompt()
	p.type_("still there?\r")
	p.until("heard <still there?>")
	p.prompt()
	p.type_("half a line\x03")
	p.until("press Ctrl-C again")
	p.prompt()
	p.type_("\x03")
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != term.ExitInterrupted {
		t.Errorf("%v", err)
	}
}

// On a dumb terminal lines are read as they come, and nothing steers it; with
// NO_COLOR nothing of ours but the editor does. Chinese is spoken where the
// environment says so.
func TestChatOnPlainTerminals(t *testing.T) {
	dir := talker(t)
	p := openPTY(t).wide(80)
	cmd := p.at(weir(t, dir, "chat"), "TERM=dumb", "LANG=zh_CN.UTF-8", "LC_ALL=")
	p.until("Ctrl-D 退出")
	p.type_("hello\\\nthere\n")
	p.until("heard <hello|there>")
	p.type_("/nothing\n")
	p.until("没有命令 /nothing")
	p.type_("\x04")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	p.mu.Lock()
	all := p.seen.String()
	p.mu.Unlock()
	if strings.Contains(all, "\x1b") {
		t.Errorf("escapes: %q", all)
	}

	p = openPTY(t).wide(80)
	cmd = p.at(weir(t, dir, "chat"), "NO_COLOR=1")
	p.prompt()
	p.type_("hello\r")
	shown := p.until("heard <hello>")
	p.prompt()
	p.type_("\x04")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if strings.Contains(shown, "\x1b[2m") || strings.Contains(shown, "waiting for") {
		t.Errorf("coloured: %q", shown)
	}
}

// A person at a terminal sees what is waited for, and for how long: the connection, the
// first token, the tool. -q shows nothing of it.
func TestSignsOfLife(t *testing.T) {
	asked := make(chan chan string)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		reply := make(chan string)
		select {
		case asked <- reply:
		case <-r.Context().Done():
			return
		}
		var text []byte
		select {
		case said := <-reply:
			text, _ = json.Marshal(said) // strings always encode
		case <-r.Context().Done(): // the test has failed
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%s},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", text)
	}))
	t.Cleanup(srv.Close)
	dir := t.TempDir()
	config := fmt.Sprintf("[agent]\nmodel = \"m\"\n[models.m]\nprovider = \"openai\"\nbase_url = %q\nmodel = \"m\"\nwindow = 32768\nnative_tools = false\n[[plugins.folder]]\npath = %q\ntrust = \"granted\"\n",
		srv.URL, guesttest.Shipped(t, "long_text"))
	if err := os.WriteFile(filepath.Join(dir, "tools.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, quiet := range []bool{false, true} {
		p := openPTY(t).wide(80)
		args := []string{"ask", "hello"}
		if quiet {
			args = append(args, "-q")
		}
		cmd := p.at(weir(t, dir, args...))
		reply := <-asked
		if !quiet {
			p.until("⋯ connecting")
			p.until("⋯ waiting for the first token of m · ")
			// On a busy machine seconds are passed over: term.TestSpinnerCounts counts each.
			if n, err := strconv.Atoi(strings.TrimSuffix(p.until(".0 s"), ".0 s")); err != nil || n < 1 {
				t.Errorf("it shows %d s, %v", n, err)
			}
		}
		reply <- `<tool_call>{"tool_name":"long_text","arguments":{}}</tool_call>`
		reply = <-asked
		if !quiet {
			p.until("⋯ long_text {}")
			p.until("● long_text")
			p.until("⋯ waiting for the first token of m")
		}
		reply <- "That is all."
		p.until("That is all.")
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
		p.mu.Lock()
		if all := p.seen.String(); quiet && strings.Contains(all, "⋯") {
			t.Errorf("-q shows %q", all)
		}
		p.mu.Unlock()
	}
}
