package author

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/weirhost/weir/host/internal/msg"
)

// A Missing says that a program is not installed, and how to get it.
type Missing struct{ Program, Language, Get string }

func (e *Missing) Error() string {
	return fmt.Sprintf("building a tool in %s takes %s, which is not installed", e.Language, e.Program)
}

// A Failed says that a build's command has failed; what it said is in Output.
type Failed struct{ Program, Output string }

func (e *Failed) Error() string { return e.Program + " could not build the tool" }

// ErrUnknown says that a folder is in no language that is known here.
var ErrUnknown = msg.Errorf("the folder holds nothing that is known how to build")

// Hint says what folders are known how to build.
func Hint() string { return "a folder that can be built holds one of: " + marks() }

// A Build is what became of one.
type Build struct {
	Language Language
	Took     time.Duration
}

// Make builds the tool in dir into the module at wasm. The file is replaced
// whole, and only by a build that has succeeded, for a plugin folder may be
// watched; where a language is not built there is none. What the commands print
// goes to progress as well. Errors are
// ErrUnknown, *Missing, *Failed, or about files.
func Make(ctx context.Context, dir, wasm string, progress io.Writer) (b Build, err error) {
	l, ok := Of(dir)
	if !ok {
		return b, ErrUnknown
	}
	b.Language = l
	if missing := l.Missing(); missing != nil {
		return b, missing
	}
	if l.Build == nil {
		return b, nil
	}
	began := time.Now()
	tmp, err := os.MkdirTemp(filepath.Dir(Absolute(wasm)), ".weir-build-")
	if err != nil {
		return b, msg.Errorf("the module cannot be written: %w", err)
	}
	defer os.RemoveAll(tmp)
	out := filepath.Join(tmp, filepath.Base(wasm))
	for _, c := range l.Build(dir, out) {
		if _, err := os.Stat(filepath.Join(dir, c.Unless)); c.Unless != "" && err == nil {
			continue
		}
		if err := c.run(ctx, dir, progress); err != nil {
			return b, err
		}
		if err := c.collect(dir, out); err != nil {
			return b, err
		}
	}
	if _, err := os.Stat(out); err != nil {
		return b, &Failed{l.Name, "it ended well and wrote no module"}
	}
	b.Took = time.Since(began)
	return b, os.Rename(out, Absolute(wasm))
}

// collect copies the module to out if the command has left it elsewhere.
func (c Command) collect(dir, out string) error {
	if c.Module == "" {
		return nil
	}
	newest, at := "", time.Time{}
	found, err := filepath.Glob(filepath.Join(dir, c.Module))
	for _, file := range found {
		if st, err := os.Stat(file); err == nil && !st.ModTime().Before(at) {
			newest, at = file, st.ModTime()
		}
	}
	if err != nil || newest == "" {
		return &Failed{c.Args[0], `it ended well and wrote no module: a tool is a library, in Cargo.toml crate-type = ["cdylib"] below [lib]`}
	}
	module, err := os.ReadFile(newest)
	if err != nil {
		return err
	}
	return os.WriteFile(out, module, 0o644)
}

// grace is how long a cancelled command may take to end.
const grace = 5 * time.Second

func (c Command) run(ctx context.Context, dir string, progress io.Writer) error {
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, append(os.Environ(), c.Env...), grace
	cmd.Stdout = io.MultiWriter(&said, progress)
	cmd.Stderr = cmd.Stdout
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, exec.ErrNotFound):
		return &Missing{c.Args[0], "Rust", "sudo apt-get install cargo libstd-rust-dev-wasm32, or see https://rustup.rs"}
	case err != nil:
		return &Failed{c.Args[0], said.String()}
	}
	return nil
}
