// Command find_todos is a weir tool: it lists the notes that people leave in
// their code. Each note is an entry: the host cuts between two of them and says how many
// there are.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/weirhost/weir/sdk/guest"
	"github.com/weirhost/weir/sdk/tool"
)

type args struct {
	Path string `json:"path"`
	Skip int    `json:"skip"`
}

//go:wasmexport find_todos
func export() int32 { return guest.Run(findTodos) }

var _ = guest.Ready(findTodos) // calls are faster with it

func main() {}

// skipped are folders whose code is somebody else's.
var skipped = []string{".git", "node_modules", "vendor", "target", "build", "dist"}

const maxFile = 1 << 20 // bytes; what is longer was written by a machine

type finder struct {
	call  *guest.Call
	dir   fs.FS
	note  *regexp.Regexp
	skip  int
	found int
	out   guest.List
}

func findTodos(c *guest.Call, in args) (guest.Result, error) {
	words, _ := c.Config("words")
	note, err := regexp.Compile(`\b(` + strings.Join(mapped(strings.Fields(words), regexp.QuoteMeta), "|") + `)\b[:( ]`)
	if err != nil || words == "" {
		return guest.Result{}, guest.Errorf(tool.Failed, "", "The setting \"words\" holds no words.")
	}
	f := &finder{call: c, dir: c.FS("/workspace"), note: note, skip: in.Skip}
	root := path.Clean(in.Path)
	if in.Path == "" {
		root = "."
	}
	if !fs.ValidPath(root) {
		return guest.Result{}, guest.Errorf(tool.Denied, "Give a path inside the workspace, without .. in it.", "%q leads out of the workspace.", in.Path)
	}
	switch err := fs.WalkDir(f.dir, root, f.visit); {
	case errors.Is(err, fs.ErrNotExist):
		return guest.Result{}, guest.Errorf(tool.BadArgs, "Look at the names with another tool, and give one of them.", "There is no %q.", in.Path)
	case err != nil:
		return guest.Result{}, guest.Errorf(tool.Failed, "", "The files cannot be read.")
	}
	return f.result(), nil
}

func mapped(all []string, f func(string) string) []string {
	for i, s := range all {
		all[i] = f(s)
	}
	return all
}

func (f *finder) visit(name string, e fs.DirEntry, err error) error {
	switch {
	case err != nil && name == ".":
		return err
	case err != nil:
		if e == nil {
			return err
		}
		return nil // one folder that cannot be read leaves the others
	case e.IsDir() && slices.Contains(skipped, e.Name()):
		return fs.SkipDir
	case e.IsDir():
		return nil
	}
	if info, err := e.Info(); err == nil && info.Mode().IsRegular() && info.Size() <= maxFile {
		f.read(name)
	}
	return nil
}

func (f *finder) read(name string) {
	file, err := f.dir.Open(name)
	if err != nil {
		return
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 64<<10)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if strings.ContainsRune(line, 0) {
			return // no text
		}
		if at := f.note.FindStringIndex(line); at != nil {
			f.add(fmt.Sprintf("%s:%d: %s\n", name, n, strings.TrimSpace(line[at[0]:])))
		}
	}
}

// add adds a note while the host keeps it.
func (f *finder) add(note string) {
	f.found++
	if f.found > f.skip && f.out.Fits(len(note)) {
		f.out.Entry()
		f.out.WriteString(note)
	}
}

func (f *finder) result() guest.Result {
	n := f.out.Entries()
	if n == 0 {
		return guest.Text(f.call.Say("There are no such notes.", "没有这样的标记。"))
	}
	r := f.out.Result()
	if behind := f.skip + n; behind < f.found {
		r.More = &tool.More{Shown: n, Total: f.found, Args: fmt.Appendf(nil, `{"skip":%d}`, behind)}
	}
	return r
}
