package guesttest

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/weirhost/weir/host/internal/toolchain"
)

// A patient notes how a test ended instead of ending.
type patient struct {
	testing.TB
	failed, skipped string
}

func (p *patient) Helper()                        {}
func (p *patient) Fatalf(format string, a ...any) { p.failed = fmt.Sprintf(format, a...) }
func (p *patient) Skipf(format string, a ...any)  { p.skipped = fmt.Sprintf(format, a...) }

// What is missing fails in CI; elsewhere one line says how to get it.
func TestNeed(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, c := range []struct{ ci, failed, skipped string }{
		{"true", "clang is missing: " + toolchain.C()[0].How(), ""},
		{"", "", "clang is missing: " + toolchain.C()[0].How()},
	} {
		t.Setenv("CI", c.ci)
		p := &patient{TB: t}
		if command := Need(p, Clang); command != "" {
			t.Errorf("CI=%q: %s was found in an empty folder", c.ci, command)
		}
		if !strings.HasPrefix(p.failed, c.failed) || !strings.HasPrefix(p.skipped, c.skipped) || (p.failed == "") == (p.skipped == "") || strings.Contains(p.failed+p.skipped, "\n") {
			t.Errorf("CI=%q: failed %q, skipped %q", c.ci, p.failed, p.skipped)
		}
	}
}

// What is found is a program.
func TestNeedFinds(t *testing.T) {
	for _, tc := range []Toolchain{Clang, Rustc} {
		command, get := tc.find(Root(t))
		if (command == "") == (get == "") {
			t.Errorf("%s: command %q, hint %q", tc, command, get)
		}
		if command == "" {
			continue
		}
		if out, err := exec.Command(command, "--version").Output(); err != nil || !strings.Contains(string(out), string(tc)) {
			t.Errorf("%s --version: %s, %v", command, out, err)
		}
	}
}
