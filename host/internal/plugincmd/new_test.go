package plugincmd

import (
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirhost/weir/host/internal/author"
	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/host/plugintest"
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

// What cannot be written is named as it was given, with a fix, not by a call of the system.
func TestNewSaysWhatCannotBeWritten(t *testing.T) {
	c := &Commands{Printer: &term.Printer{Env: term.Env{Out: io.Discard, Err: io.Discard}}}
	dir := filepath.Join(t.TempDir(), "a")
	if err := c.New(dir, author.Spec{Name: "a", Language: "js"}); err != nil {
		t.Fatal(err)
	}
	inFile := filepath.Join(dir, "main.js", "b")
	err := c.New(inFile, author.Spec{Name: "b", Language: "js"})
	if p, ok := errors.AsType[*msg.Problem](err); !ok || p.Text.String() != inFile+" cannot be written: not a directory" || p.Hint.IsZero() {
		t.Errorf("%v", err)
	}
}

// The tests of a new tool say that its description is still the template's: a model would
// choose it for what the template's tool does.
func TestTheTemplatesDescriptionIsNoticed(t *testing.T) {
	for name, want := range map[string]bool{"word_count": false, "tides": true} {
		var out strings.Builder
		c := &Commands{Printer: &term.Printer{Env: term.Env{Out: &out, Err: &out}}}
		dir := filepath.Join(t.TempDir(), name)
		if err := c.New(dir, author.Spec{Name: name, Language: "js", Template: "basic"}); err != nil {
			t.Fatal(err)
		}
		r, err := c.RunCases(t.Context(), dir, plugintest.Config{CacheDir: guesttest.Cache(t), FuzzCalls: -1})
		if err != nil || !r.OK() {
			t.Fatalf("%+v %v", r, err)
		}
		got := len(r.Warnings) == 1 && strings.Contains(r.Warnings[0].String(), "plugin.toml:21:1: warning: the description is still the template's")
		if got != want || !want && len(r.Warnings) > 0 {
			t.Errorf("%s: %v", name, r.Warnings)
		}
	}
}
