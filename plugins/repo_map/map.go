package main

import (
	"cmp"
	"encoding/json"
	"io"
	"io/fs"
	"strings"

	"github.com/weirhost/weir/sdk/guest"
	"github.com/weirhost/weir/sdk/guest/files"
	"github.com/weirhost/weir/sdk/tool"
)

const (
	defaultTokens = 2000
	highestTokens = 20000
	maxFile       = 512 << 10 // bytes; larger source files are generated
	maxTotal      = 24 << 20  // bytes of source looked at by one call
)

type args struct {
	RepoPath  string `json:"repo_path"`  // empty: the workspace
	MaxTokens int    `json:"max_tokens"` // 0: all, the best 2,000 tokens first
}

// mapRepo finds the definitions of all source files, ranks them, and writes the best ones
// that fit the budget, file by file. If the call names no budget, the others follow.
func mapRepo(c *guest.Call, in args) (guest.Result, error) {
	if in.MaxTokens < 0 || in.MaxTokens > highestTokens {
		return guest.Result{}, guest.Errorf(tool.BadArgs, "Leave it out for everything, the best first.",
			"\"max_tokens\" must be 1 to %s.", guest.Grouped(highestTokens)).Zh("省略时返回全部，最重要的在前。", "\"max_tokens\" 须为 1 到 %s。")
	}
	budget := cmp.Or(in.MaxTokens, defaultTokens)
	tree := files.In(c, files.Workspace)
	name, err := tree.Dir(in.RepoPath)
	if err != nil {
		return guest.Result{}, err
	}
	r, err := scan(c, tree, name)
	if err != nil {
		return guest.Result{}, err
	}
	if len(r.defs) == 0 {
		return guest.Text(c.Say(
			"No definitions found in "+name+": it has no source files of Go, Python, JavaScript, TypeScript, Rust or C.",
			"在 "+name+" 中没有找到定义：没有 Go、Python、JavaScript、TypeScript、Rust 或 C 源文件。")), nil
	}
	r.rank()
	shown := r.choose(budget)
	all := in.MaxTokens == 0
	text := &guest.List{Head: r.headline(c, shown, budget, all)}
	r.draw(c, text, true)
	if all && shown < len(r.defs) {
		text.Show = shown
		r.draw(c, text, false)
	}
	res := text.Result()
	if written := text.Entries(); written < len(r.defs) {
		res.More = &tool.More{Shown: written, Total: len(r.defs)}
		if budget < highestTokens && !all {
			res.More.Args, _ = json.Marshal(map[string]int{"max_tokens": min(budget*2, highestTokens)})
		}
	}
	return res, nil
}

// repo is what a scan found.
type repo struct {
	start   string
	files   []string // source files, in order
	defs    []*def
	uses    map[string]map[int]bool // name → files that use it
	partial bool
}

// def is one definition.
type def struct {
	file  int // index into repo.files
	line  int
	name  string
	text  string // its line, without the body
	kind  kind
	inner bool // inside a class or block
	score float64
	shown bool
}

// scan reads every source file twice: first for what it defines, then for
// which of these names it uses. Reading again costs less than the memory to
// keep all files would.
func scan(c *guest.Call, tree files.Tree, start string) (*repo, error) {
	r := &repo{start: start, uses: map[string]map[int]bool{}}
	total := 0
	err := tree.Walk(start, func(e files.Entry) error {
		lang := languageOf(e.Name)
		if lang == nil || !e.Type().IsRegular() || isVendored(e.Name) {
			return nil
		}
		if total >= maxTotal {
			r.partial = true
			return fs.SkipAll
		}
		src, ok := source(tree.FS, e.Name)
		if !ok {
			return nil
		}
		total += len(src)
		found := lang.definitions(src)
		for i := range found {
			found[i].file = len(r.files)
			r.defs = append(r.defs, &found[i])
		}
		r.files = append(r.files, e.Name)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, d := range r.defs {
		r.uses[d.name] = map[int]bool{}
	}
	for i, name := range r.files {
		if i%100 == 99 {
			c.Progress(i+1, len(r.files), name)
		}
		if src, ok := source(tree.FS, name); ok {
			r.count(i, src)
		}
	}
	return r, nil
}

// source reads a file; false for one that is too large or cannot be read.
func source(fsys fs.FS, name string) (string, bool) {
	f, err := fsys.Open(name)
	if err != nil {
		return "", false
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil || len(b) > maxFile || files.Binary(b[:min(len(b), files.SniffBytes)]) != "" {
		return "", false
	}
	return strings.ReplaceAll(string(files.Text(b)), "\r\n", "\n"), true
}

// isVendored reports whether a file was copied in from elsewhere or made by a
// program.
func isVendored(name string) bool {
	for _, dir := range []string{"vendor/", "third_party/", "dist/", "target/", "build/"} {
		if strings.HasPrefix(name, dir) || strings.Contains(name, "/"+dir) {
			return true
		}
	}
	return strings.HasSuffix(name, ".min.js") || strings.HasSuffix(name, ".pb.go") || strings.HasSuffix(name, "_pb2.py")
}

// count notes which defined names a file uses.
func (r *repo) count(file int, src string) {
	for i := 0; i < len(src); {
		if !isWord(src[i]) {
			i++
			continue
		}
		from := i
		for i < len(src) && isWord(src[i]) {
			i++
		}
		if in, defined := r.uses[src[from:i]]; defined {
			in[file] = true
		}
	}
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}
