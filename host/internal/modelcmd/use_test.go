package modelcmd

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/term"
)

// In a clone the program is bin/weir and not on the PATH: a command to copy names it as
// it was called.
func TestNextCommandsNameTheProgramAsItWasCalled(t *testing.T) {
	for program, want := range map[string]string{"bin/weir": "try it: bin/weir model test\n", "": "try it: weir model test\n"} {
		file := filepath.Join(t.TempDir(), config.FileName)
		if err := config.WriteFile(file, "[agent]\n"); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		none := func(string) (string, bool) { return "", false }
		c := &Commands{
			Printer: &term.Printer{Env: term.Env{Out: &out, Err: &out}}, Program: program,
			Load: func() (config.Paths, config.Loaded, error) {
				return config.Paths{Config: file}, config.Loaded{Secrets: none}, nil
			},
		}
		if err := c.Use(t.Context(), "demo", Flags{Name: "demo"}); err != nil || !strings.HasSuffix(out.String(), want) {
			t.Errorf("%q: %v %q; want %q at its end", program, err, out.String(), want)
		}
	}
}
