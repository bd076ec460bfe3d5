package quarantine

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/tool"
)

// A quarantine file that a full disk or a person has damaged is moved aside, and a new
// list is written.
func TestADamagedQuarantineIsMovedAside(t *testing.T) {
	for _, c := range []struct {
		text    string
		damaged bool
	}{
		{"null", false}, {"{}", false}, {`{"abc":null}`, false},
		{"", true}, {"{", true}, {`{"abc":{"plugin":"p","tries":2,"final":true}`, true}, {"[]", true}, {`{"old":{"plugin":"p","tries":9},"abc":7}`, true}, {"\x00\x00\x00", true},
	} {
		file := filepath.Join(t.TempDir(), "quarantine.json")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		var said bytes.Buffer
		log := hclog.New(&hclog.LoggerOptions{Output: &said})
		q, err := Open(file, log)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		kept, err := os.ReadFile(file + ".bad")
		switch {
		case c.damaged && (err != nil || string(kept) != c.text || !strings.Contains(said.String(), "was moved aside; every plugin is tried again")):
			t.Errorf("%q: kept %q, %v; said %q", c.text, kept, err, said.String())
		case !c.damaged && (!errors.Is(err, fs.ErrNotExist) || said.Len() > 0):
			t.Errorf("%q: kept %q, %v; said %q", c.text, kept, err, said.String())
		}
		for _, digest := range []string{"old", "abc"} {
			if e, held := q.Held(digest); held {
				t.Errorf("%q: holds %+v", c.text, e)
			}
		}
		if err := errors.Join(q.Begin("abc", "p"), q.End("abc", tool.Textf("compiling it needs more than %s of memory", tool.Bytes(1<<30)), true)); err != nil {
			t.Errorf("%q: %v", c.text, err)
		}
		again, err := Open(file, log)
		if err != nil {
			t.Fatal(err)
		}
		if e, held := again.Held("abc"); !held || e.Tries != 1 || msg.In(tool.Zh, e.Why) != "编译它需要的内存超过 1GiB" {
			t.Errorf("%q: held %t, %+v", c.text, held, e)
		}
	}
}

// A list that is no file, or is very long, is moved aside before it is read.
func TestAQuarantineThatIsNoFileIsMovedAside(t *testing.T) {
	for what, put := range map[string]func(file string) error{
		"a folder":   func(file string) error { return os.Mkdir(file, 0o700) },
		"very long":  func(file string) error { return errors.Join(os.WriteFile(file, nil, 0o600), os.Truncate(file, 1<<40)) },
		"an endless": func(file string) error { return os.Symlink("/dev/zero", file) },
	} {
		file := filepath.Join(t.TempDir(), "quarantine.json")
		if err := put(file); err != nil {
			t.Logf("%s: %v", what, err) // no such thing on this system
			continue
		}
		q, err := Open(file, hclog.NewNullLogger())
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if err := q.Begin("abc", "p"); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := os.Lstat(file + ".bad"); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}
