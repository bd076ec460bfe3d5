package plugincmd

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weirhost/weir/host/internal/author"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/term"
)

// Wrap makes the folder of a plugin around a module that has no manifest. An empty dir
// means the name.
func (c *Commands) Wrap(dir, name, module string) error {
	if name == "" {
		return msg.Usagef("weir plugin new NAME --from "+module, "the new plugin has no name")
	}
	if why := author.CheckName(name); !why.IsZero() {
		return msg.Usagef("for example: word_count", "%s", why)
	}
	dir = cmp.Or(dir, name)
	files, err := author.FromModule(dir, name, module)
	if err != nil {
		return notMade(err)
	}
	if c.AsJSON(map[string]any{"name": name, "from": module, "dir": dir, "files": files}) {
		return nil
	}
	c.Outf("made %s: a plugin.toml for the functions of %s\n", dir, module)
	c.Outf("\nnext:\n")
	c.Outf("  complete %s: what each tool does, and its arguments\n", filepath.Join(dir, "plugin.toml"))
	fmt.Fprintf(c.Out, "  %s plugin test %s\n", cmp.Or(c.Program, "weir"), dir)
	return nil
}

// notMade adds to the error about a folder that cannot hold a new tool what to do.
func notMade(err error) error {
	const hint = "name another folder with --dir"
	if e, ok := errors.AsType[*author.ErrNotEmpty](err); ok {
		return msg.Usagef(hint, "%s", e)
	}
	if e, ok := errors.AsType[*author.ErrUnwritable](err); ok {
		return msg.Usagef(hint, "%s cannot be written: %s", e.Dir, msg.Reason(e.Err))
	}
	return err
}

// New makes the folder of a new tool. An empty dir means the name of the tool. It
// asks on the terminal for a name and a language that are missing.
func (c *Commands) New(dir string, spec author.Spec) error {
	if err := c.askNew(&spec); err != nil {
		return err
	}
	l, ok := author.Named(spec.Language)
	if !ok {
		return msg.Usagef("", "there is no language %q here", spec.Language).WithHint("use one of: %s", strings.Join(author.Names(), ", "))
	}
	if spec.Template == "" {
		spec.Template = l.Templates[0]
	}
	if !slices.Contains(l.Templates, spec.Template) {
		return msg.Usagef("", "%s has no template %q", l.Title, spec.Template).WithHint("use one of: %s", strings.Join(l.Templates, ", "))
	}
	dir = cmp.Or(dir, spec.Name)
	files, err := author.New(dir, spec)
	if err != nil {
		return notMade(err)
	}
	if c.AsJSON(map[string]any{"name": spec.Name, "lang": l.Name, "template": spec.Template, "dir": dir, "files": files}) {
		return nil
	}
	c.Outf("made %s: a tool in %s (%s)\n", dir, l.Title, spec.Template)
	for _, f := range files {
		fmt.Fprintf(c.Out, "  %-22s %s\n", f, c.text(purpose(f)))
	}
	if l.SDK != nil {
		fmt.Fprintf(c.Out, "  %-22s %s\n", "weir/", c.text("the SDK, copied in"))
	}
	c.Outf("\nnext:\n")
	c.printNext(dir, l.Build != nil)
	return nil
}

// printNext prints the commands that build and try a new tool. A program that was called
// by its path may not be found by its name, so they name the path, and the folder.
func (c *Commands) printNext(dir string, build bool) {
	program, folder := cmp.Or(c.Program, "weir"), ""
	if filepath.Clean(dir) != "." {
		if program == filepath.Base(program) {
			fmt.Fprintf(c.Out, "  cd %s\n", dir)
		} else {
			folder = " " + dir
		}
	}
	if build {
		fmt.Fprintf(c.Out, "  %s plugin build%s\n", program, folder)
	}
	fmt.Fprintf(c.Out, "  %s plugin test%s\n", program, folder)
}

// askNew asks for the missing name and language, if there is a terminal.
func (c *Commands) askNew(s *author.Spec) error {
	asks := !c.JSON && term.IsTerminal(c.In)
	if s.Name == "" {
		if !asks {
			return msg.Usagef("weir plugin new NAME --lang "+strings.Join(author.Names(), "|"), "the new tool has no name")
		}
		var answered bool
		if s.Name, answered = c.Ask(c.Sprintf("Name of the tool (small letters, digits, _): ")); !answered {
			return msg.Usagef("weir plugin new NAME --lang "+strings.Join(author.Names(), "|"), "the new tool has no name")
		}
	}
	if why := author.CheckName(s.Name); !why.IsZero() {
		return msg.Usagef("for example: word_count", "%s", why)
	}
	if s.Language != "" {
		return nil
	}
	if !asks {
		return msg.Usagef("", "the new tool has no language").WithHint("add --lang with one of: %s", strings.Join(author.Names(), ", "))
	}
	first := author.Names()[0]
	if s.Language, _ = c.Ask(c.Sprintf("Language, one of %s [%s]: ", strings.Join(author.Names(), ", "), first)); s.Language == "" {
		s.Language = first
	}
	return nil
}

// purpose describes a file of a new tool.
func purpose(name string) string {
	switch {
	case name == ".gitignore":
		return "keeps the built module out of git"
	case strings.HasPrefix(name, "main_test."):
		return "tests of the function alone, without the sandbox"
	case name == "package.json":
		return "names the compiler that the first build fetches"
	case name == "go.mod":
		return "makes the folder a Go module; it depends on nothing"
	case name == "plugin.toml":
		return "what it declares: its tool, arguments, limits, and what it asks for"
	case strings.HasPrefix(name, "tests/"):
		return "cases, for weir plugin test"
	case strings.HasPrefix(name, "main."):
		return "the tool"
	case name == "README.md":
		return "how to go on"
	}
	return ""
}
