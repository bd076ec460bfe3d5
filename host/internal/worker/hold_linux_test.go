package worker

import (
	"path/filepath"
	"strconv"
	"testing"

	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/internal/jail"
	"github.com/weirhost/weir/host/internal/sandbox"
)

// holder is a module whose export hold opens a.txt of its folder until it may not, and
// returns how often it could.
const holder = "\x00asm\x01\x00\x00\x00" +
	"\x01\x12\x02\x60\x09\x7f\x7f\x7f\x7f\x7f\x7e\x7e\x7f\x7f\x01\x7f\x60\x00\x01\x7f" + // types
	"\x02\x24\x01\x16wasi_snapshot_preview1\x09path_open\x00\x00" +
	"\x03\x02\x01\x01" + "\x05\x03\x01\x00\x01" +
	"\x07\x11\x02\x04hold\x00\x01\x06memory\x02\x00" +
	"\x0a\x2c\x01\x2a\x01\x01\x7f" + // code, one local
	"\x03\x40" + // loop
	"\x41\x03\x41\x00\x41\x00\x41\x05\x41\x00\x42\x02\x42\x02\x41\x00\x41\x10\x10\x00" + // path_open(3, 0, "a.txt", …)
	"\x45\x04\x40\x20\x00\x41\x01\x6a\x21\x00\x0c\x01\x0b" + // if it could: one more, again
	"\x0b\x20\x00\x0b" +
	"\x0b\x0b\x01\x00\x41\x00\x0b\x05a.txt"

// TestAGuestHoldsAsManyFilesAsInline: the bound of a process's descriptors is not reached
// before that of the guest's files.
func TestAGuestHoldsAsManyFilesAsInline(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "a.txt"), "alpha")
	pl := sandbox.Plugin{Name: "holder", Wasm: []byte(holder), Exports: []string{"hold"}}
	inv := sandbox.Invocation{Export: "hold", Grant: sandbox.Grant{Mounts: []jail.Mount{{Guest: "/w", Host: dir}}}}
	var book guesttest.LogBook
	want, got := watch(t, inline(t, pl, nil), &book, inv), watch(t, load(t, newPool(t, nil), pl), &book, inv)
	if want.Fail != got.Fail {
		t.Errorf("inline %q, in a process %q", want.Fail[0], got.Fail[0])
	}
	if n, err := strconv.Atoi(digits(got.Fail[0])); err != nil || n < 200 {
		t.Errorf("%d files were open: %q", n, got.Fail[0])
	}
}

// digits returns the digits of a text.
func digits(s string) string {
	var out []byte
	for i := range len(s) {
		if s[i] >= '0' && s[i] <= '9' {
			out = append(out, s[i])
		}
	}
	return string(out)
}
