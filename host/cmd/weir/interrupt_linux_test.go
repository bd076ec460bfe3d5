package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/weirhost/weir/host/internal/term"
)

// Ctrl-C at a question ends the command at once, and nothing is changed: at the second
// question, too.
func TestInterruptedQuestion(t *testing.T) {
	for _, answers := range [][]string{nil, {"y\n"}} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "tools.toml"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		p := openPTY(t)
		cmd := p.at(weir(t, dir, "mcp", "add", "a", "--", "true"))
		p.until("[y/N] ")
		for _, a := range answers {
			p.type_(a)
			p.until("[y/N] ")
		}
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); cmd.ProcessState.ExitCode() != term.ExitInterrupted {
			t.Errorf("after %q: %v", answers, err)
		}
		if text, err := os.ReadFile(filepath.Join(dir, "tools.toml")); err != nil || len(text) > 0 {
			t.Errorf("after %q: it was written: %s", answers, text)
		}
	}
}
