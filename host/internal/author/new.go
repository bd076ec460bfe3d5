package author

import (
	"embed"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/tool"
)

//go:embed all:templates
var templates embed.FS

// A Spec is what a new tool is to be.
type Spec struct {
	Name     string // of the tool and of its plugin
	Language string
	Template string
}

// Folders of templates beside those of the languages, and within each.
const (
	all    = "all"    // what all languages have
	common = "common" // what all templates have
)

// A view is what templates read.
type view struct {
	Spec
	Title  string // of the language
	Source string
}

// CheckName says what keeps a name from being a tool's; zero: nothing.
func CheckName(name string) tool.Text {
	switch {
	case !tool.ValidName(name):
		return tool.Textf("%q is no name for a tool: it begins with a small letter and has small letters, digits and _, at most 64", name)
	case strings.Contains(name, "__"):
		return tool.Textf("%q contains __, which separates a plugin's name from its tool", name)
	case tool.IsBuiltIn(name):
		return tool.Textf("%q is the name of a tool that the host provides itself", name)
	}
	return tool.Text{}
}

// Files are those of a new tool, by their slash-separated path.
func Files(s Spec) (map[string][]byte, error) {
	l, ok := Named(s.Language)
	if !ok || !slices.Contains(l.Templates, s.Template) {
		return nil, msg.Errorf("there is no template %s of %s", s.Template, s.Language)
	}
	s.Language = l.Name
	out := map[string][]byte{}
	if l.SDK != nil {
		sdk, err := l.SDK(s)
		if err != nil {
			return nil, err
		}
		maps.Copy(out, sdk)
	}
	v := view{Spec: s, Title: l.Title, Source: l.Source}
	for _, folder := range []string{path.Join(all, common), path.Join(all, s.Template), path.Join(l.Name, common), path.Join(l.Name, s.Template)} {
		if err := v.files(path.Join("templates", folder), out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// files renders a folder of templates, if it is there.
func (v view) files(root string, out map[string][]byte) error {
	if _, err := fs.Stat(templates, root); err != nil {
		return nil
	}
	return fs.WalkDir(templates, root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := v.render(name)
		if err == nil {
			out[place(strings.TrimPrefix(name, root+"/"))] = text
		}
		return err
	})
}

// place is where a template's file goes.
func place(name string) string {
	name = strings.TrimSuffix(name, ".tmpl")
	if path.Base(name) == "gitignore" { // a real one would hide files of this repository
		name = path.Join(path.Dir(name), ".gitignore")
	}
	return name
}

func (v view) render(name string) ([]byte, error) {
	text, err := fs.ReadFile(templates, name)
	if err != nil || !strings.HasSuffix(name, ".tmpl") {
		return text, err
	}
	out, err := v.fill(string(text))
	if err != nil {
		return nil, msg.Errorf("%s: %w", name, err)
	}
	return []byte(out), nil
}

// fill writes a template out.
//
// It is not text/template: whatever calls methods by names that only come at run
// time makes the linker keep every method of every type, and with it half as much
// again of the whole binary.
func (v view) fill(text string) (string, error) {
	var b strings.Builder
	for line := range strings.Lines(text) {
		words, rest, tagged := tagOf(line)
		for _, w := range words {
			if !isTag(w) {
				return "", msg.Errorf("%q is neither a language nor a template", w)
			}
		}
		if !tagged || slices.Contains(words, v.Language) || slices.Contains(words, v.Template) {
			b.WriteString(rest)
		}
	}
	out := strings.NewReplacer("{% .Name %}", v.Name, "{% .Title %}", v.Title, "{% .Source %}", v.Source).Replace(b.String())
	if _, left, found := strings.Cut(out, "{%"); found {
		return "", msg.Errorf("nothing is known to put in place of {%%%.20s", left)
	}
	return out, nil
}

// tagOf takes the tag off a line that begins with one. A value is no tag.
func tagOf(line string) (words []string, rest string, ok bool) {
	tag, rest, closed := strings.Cut(line, "%}")
	tag, opened := strings.CutPrefix(tag, "{%")
	if !opened || !closed || strings.Contains(tag, ".") {
		return nil, line, false
	}
	return strings.Fields(tag), rest, true
}

func isTag(word string) bool {
	return slices.ContainsFunc(Languages(), func(l Language) bool { return l.Name == word || slices.Contains(l.Templates, word) })
}

// ErrNotEmpty says that something lies where the new folder should be.
type ErrNotEmpty struct{ Dir string }

func (e *ErrNotEmpty) Error() string { return e.Dir + " is there already and not empty" }

// ErrUnwritable says that the new folder cannot be written.
type ErrUnwritable struct {
	Dir string
	Err error
}

func (e *ErrUnwritable) Error() string { return e.Dir + " cannot be written: " + e.Err.Error() }

// New writes a new tool into dir, which it makes; one that is there must be
// empty. It returns the files' paths, sorted, those of the SDK left out.
func New(dir string, s Spec) ([]string, error) {
	files, err := Files(s)
	if err != nil {
		return nil, err
	}
	own, err := write(dir, files)
	return slices.DeleteFunc(own, func(name string) bool { return strings.HasPrefix(name, "weir/") }), err
}

// write writes files into dir, which it makes; one that is there must be empty. It
// returns their paths, sorted.
func write(dir string, files map[string][]byte) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) > 0 {
		return nil, &ErrNotEmpty{dir}
	}
	if err != nil && !os.IsNotExist(err) {
		return nil, &ErrUnwritable{dir, err}
	}
	names := slices.Sorted(maps.Keys(files))
	for _, name := range names {
		to := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return nil, &ErrUnwritable{dir, err}
		}
		if err := os.WriteFile(to, files[name], 0o644); err != nil {
			return nil, &ErrUnwritable{dir, err}
		}
	}
	return names, nil
}
