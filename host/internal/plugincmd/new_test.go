package plugincmd

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirhost/weir/host/internal/author"
	"github.com/weirhost/weir/host/internal/term"
)

// The commands that a new tool ends with work where they are copied: by the name of the
// program within the folder, by its path from where it was called.
func TestNextCommandsCanBeCopied(t *testing.T) {
	for program, want := range map[string]string{
		"":         "\n  cd DIR\n  weir plugin build\n  weir plugin test\n",
		"weir":     "\n  cd DIR\n  weir plugin build\n  weir plugin test\n",
		"bin/weir": "\n  bin/weir plugin build DIR\n  bin/weir plugin test DIR\n",
	} {
		var out strings.Builder
		c := &Commands{Printer: &term.Printer{Env: term.Env{Out: &out, Err: &out}}, Program: program}
		dir := filepath.Join(t.TempDir(), "a")
		if err := c.New(dir, author.Spec{Name: "a", Language: "go"}); err != nil {
			t.Fatal(err)
		}
		if want = strings.ReplaceAll(want, "DIR", dir); !strings.HasSuffix(out.String(), want) {
			t.Errorf("called as %q it ends in %q", program, out.String())
		}
	}
}
