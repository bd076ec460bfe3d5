package author

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weirhost/weir/host/internal/toolchain"
)

// A Language is one language that tools are written in.
type Language struct {
	// Name is what people type, Title what they read.
	Name, Title string
	// Source is the file that a new tool is written in.
	Source string
	// Marks are patterns of files that say that a folder holds a tool in this
	// language, the surest first. None: isTypeScript says it.
	Marks []string
	// Templates are what a new tool can begin with, the default first.
	Templates []string
	// Needs are the programs that building takes.
	Needs []toolchain.Need
	// SDK lists the files of the SDK that a new tool gets, by their path in its
	// folder; nil: none.
	SDK func(s Spec) (map[string][]byte, error)
	// Build lists the commands that make the module at out of the folder dir, in which
	// they are run. They are run in order, the first that fails ends the build. nil: the
	// host runs the source as it is.
	Build func(dir, out string) []Command
	// Slow says what people should know who build for the first time; empty: nothing.
	Slow string
}

// A Command is one program to run, with what its environment has beside ours.
type Command struct {
	Args []string
	Env  []string
	// Unless is a path in the folder whose presence makes the command superfluous;
	// empty: it is always run.
	Unless string
	// Module is a pattern of files in the folder, of which the command writes the
	// module as the newest; empty: it writes the module to its place.
	Module string
}

// Languages are all there are, in the order in which they are offered.
func Languages() []Language {
	return []Language{golang(), rust(), c(), assemblyScript(), javaScript(), typeScript()}
}

// Named returns a language by its name or title, in any case.
func Named(name string) (Language, bool) {
	all := Languages()
	i := slices.IndexFunc(all, func(l Language) bool { return strings.EqualFold(l.Name, name) || strings.EqualFold(l.Title, name) })
	if i < 0 {
		return Language{}, false
	}
	return all[i], true
}

// Names lists the languages' names.
func Names() (out []string) {
	for _, l := range Languages() {
		out = append(out, l.Name)
	}
	return out
}

// Of returns the language that a folder's tool is written in.
func Of(dir string) (Language, bool) {
	if isTypeScript(dir) {
		return typeScript(), true
	}
	for _, l := range Languages() {
		for _, mark := range l.Marks {
			if found, err := fs.Glob(os.DirFS(dir), mark); err == nil && len(found) > 0 {
				return l, true
			}
		}
	}
	return Language{}, false
}

// marks lists what folders of any language hold, for people.
func marks() string {
	var out []string
	for _, l := range Languages() {
		if len(l.Marks) > 0 {
			out = append(out, fmt.Sprintf("%s (%s)", l.Marks[0], l.Title))
		}
	}
	return strings.Join(out, ", ")
}

// Missing returns the parts of the toolchain that this machine lacks; nil: none.
func (l Language) Missing() *Missing {
	for _, n := range l.Needs {
		if !n.Here() {
			return &Missing{n.Program, l.Title, n.How()}
		}
	}
	return nil
}

// golang is Go: the SDK is source, copied in, for it takes the standard library
// alone.
func golang() Language {
	return Language{
		Name: "go", Title: "Go",
		Source:    "main.go",
		Marks:     []string{"go.mod", "*.go"},
		Templates: []string{"basic", "http", "files"},
		Needs:     toolchain.Go(),
		SDK:       goSDK,
		Build: func(_, out string) []Command {
			return []Command{{
				Args: []string{"go", "build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", out, "."},
				Env:  []string{"GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off"},
			}}
		},
		Slow: "the first build for Wasm takes a minute, for it compiles the standard library",
	}
}

// Absolute returns filepath.Abs of a path, or the path where that fails.
func Absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}
