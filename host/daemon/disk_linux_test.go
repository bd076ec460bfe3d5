package daemon

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/internal/postgres/pgtest"
)

// diskEnv names, in a process made for it, how its disk gets full.
const diskEnv = "WEIR_TEST_DISK"

// A disk is one that a test can fill and empty.
type disk struct {
	dir         string
	fill, empty func(t *testing.T)
}

// A write that the kernel itself refuses: the turn goes on with the cut text
// and says so, reading goes on, and when there is room again everything is as
// before. It runs in a process of its own: on a small private file system where
// that is permitted, and with a limit on the size of files, which is permitted
// everywhere.
func TestFullDisk(t *testing.T) {
	pgtest.SQLite(t)
	switch os.Getenv(diskEnv) {
	case "tmpfs":
		fullDisk(t, smallDisk(t))
		return
	case "fsize":
		fullDisk(t, boundedFiles(t))
		return
	}
	for _, way := range []struct {
		name string
		attr *syscall.SysProcAttr
	}{{"tmpfs", &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}}, {"fsize", nil}} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestFullDisk$", "-test.v", "-test.timeout=20m")
		cmd.Env = append(os.Environ(), diskEnv+"="+way.name, "WEIR_TEST_POSTGRES=no")
		cmd.SysProcAttr = way.attr
		out, err := cmd.CombinedOutput()
		switch {
		case way.name == "tmpfs" && (errors.Is(err, syscall.EPERM) || strings.Contains(string(out), cannotMount)):
			t.Logf("this process may not mount a file system; the bound for files stands in for it")
		case err != nil || !strings.Contains(string(out), "--- PASS: TestFullDisk"):
			t.Errorf("%s: %v\n%s", way.name, err, out)
		}
	}
}

const cannotMount = "a file system cannot be mounted"

// smallDisk is a file system of two megabytes.
func smallDisk(t *testing.T) disk {
	dir := t.TempDir()
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		t.Fatalf("%s: %v", cannotMount, err)
	}
	if err := syscall.Mount("weir", dir, "tmpfs", 0, "size=2m"); err != nil {
		t.Fatalf("%s: %v", cannotMount, err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	filler := filepath.Join(dir, "filler")
	return disk{dir, func(t *testing.T) {
		f, err := os.Create(filler)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for block := make([]byte, 4096); err == nil; {
			_, err = f.Write(block)
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("the disk does not get full: %v", err)
		}
	}, func(t *testing.T) {
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
	}}
}

// boundedFiles lets no file of this process grow.
func boundedFiles(t *testing.T) disk {
	signal.Ignore(syscall.SIGXFSZ) // as the kernel's answer, not as a signal
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	set := func(t *testing.T, soft uint64) {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: soft, Max: before.Max}); err != nil {
			t.Fatal(err)
		}
	}
	return disk{t.TempDir(), func(t *testing.T) { set(t, 4096) }, func(t *testing.T) { set(t, before.Cur) }}
}

// callFor makes a text of so many lines, which is no other call's.
func callFor(lines int) string {
	return strings.Replace(longCall, `"arguments":{}`, fmt.Sprintf(`"arguments":{"lines":%d}`, lines), 1)
}

func fullDisk(t *testing.T, d disk) {
	m := replay.New(
		replay.Text(longCall), replay.Text("Made."), // with room
		replay.Text(callFor(900)), replay.Text("Made without an archive."), // without
		replay.Text("Nothing to remember."),                   // a new conversation
		replay.Text(callFor(700)), replay.Text("Made again."), // with room again
	)
	s := serverWith(t, m, func(c *host.Config) { c.Archive.Path = filepath.Join(d.dir, "archive.db") })
	ask := func(body, answer string) (api.ChatEnd, []event) {
		t.Helper()
		r := s.post("/api/chat", body)
		es := events(r.body)
		if r.status != 200 {
			t.Fatalf("%s: %d %.300s", body, r.status, r.body)
		}
		end := last[api.ChatEnd](t, es, api.EventEnd)
		if end.Answer != answer || end.Reason != agent.ReasonAnswer {
			t.Errorf("%s: answered %q, reason %s", body, end.Answer, end.Reason)
		}
		return end, es
	}
	calculate := func(t *testing.T) {
		t.Helper()
		if r := s.post("/api/tools/calculator/call", `{"arguments":{"expression":"6*7"}}`); r.status != 200 || !strings.Contains(r.body, "42") {
			t.Errorf("a call: %d %.300s", r.status, r.body)
		}
	}
	calculate(t) // it is compiled while there is room for that
	first, es := ask(`{"message":"Make a long text"}`, "Made.")
	kept := last[api.ToolCallResult](t, es, api.EventResult).KeptUUID
	if kept == "" || first.Unsaved {
		t.Fatalf("the archive does not work to begin with: %+v", first)
	}
	inFirst := func(message string) string {
		return fmt.Sprintf(`{"message":%q,"conversation_id":%q}`, message, first.Conversation)
	}

	d.fill(t)
	end, es := ask(inFirst("Make another"), "Made without an archive.")
	if r := last[api.ToolCallResult](t, es, api.EventResult); !r.Unkept || r.KeptUUID != "" || r.Shown == 0 || !end.Unsaved {
		t.Errorf("on the full disk: %+v, unsaved %v", r, end.Unsaved)
	}
	asked := m.Requests()[3].Messages
	if told := asked[len(asked)-1].Text; !strings.Contains(told, "could not be kept") || !strings.Contains(told, "line 1:") {
		t.Errorf("the model is not told, or shown nothing: %.300s", told)
	}
	if end, _ := ask(`{"message":"Who are you?"}`, "Nothing to remember."); !end.Unsaved {
		t.Error("a new conversation on a full disk is called saved")
	}
	if r := s.get("/api/archives/" + kept + "?lines=300-300"); r.status != 200 || !strings.Contains(r.body, "line 300:") {
		t.Errorf("reading on a full disk: %d %.300s", r.status, r.body)
	}
	if r := s.get("/healthz"); r.status != 200 {
		t.Errorf("healthz: %d", r.status)
	}
	calculate(t)

	d.empty(t)
	end, es = ask(inFirst("Make a third"), "Made again.")
	if r := last[api.ToolCallResult](t, es, api.EventResult); r.Unkept || r.KeptUUID == "" || r.KeptUUID == kept || end.Unsaved {
		t.Errorf("with room again: %+v, unsaved %v", r, end.Unsaved)
	}
	var told strings.Builder
	for _, msg := range m.Requests()[5].Messages {
		told.WriteString(msg.Text)
	}
	if !strings.Contains(told.String(), "Make a long text") || strings.Contains(told.String(), "Make another") {
		t.Errorf("the conversation goes on from what was saved: %.600s", told.String())
	}
}
