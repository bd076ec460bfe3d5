package files

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/weirhost/weir/sdk/guest"
	"github.com/weirhost/weir/sdk/tool"
)

// Workspace is the guest path under which the shipped tools see files.
const Workspace = "/workspace"

// A Tree is one granted folder. Names inside it are slash-separated and
// relative to it, "." being the folder itself.
type Tree struct {
	FS   fs.FS
	Root string // its guest path, for example "/workspace"
}

// In returns the granted folder at a guest path.
func In(c *guest.Call, root string) Tree { return Tree{FS: c.FS(root), Root: root} }

// Name turns what a model wrote into a name inside the tree: it may be
// relative, begin with "./" or carry the guest path in front. Empty means the
// folder itself. A path that leaves the folder is denied.
func (t Tree) Name(written string) (string, error) {
	p := strings.ReplaceAll(strings.TrimSpace(written), `\`, "/")
	if rest, ok := strings.CutPrefix(p, t.Root); ok && (rest == "" || rest[0] == '/') {
		p = strings.TrimLeft(rest, "/")
	}
	if strings.HasPrefix(p, "/") || len(p) > 1 && p[1] == ':' {
		return "", guest.Errorf(tool.Denied, "Write the path relative to the workspace, for example \""+path.Base(p)+"\".",
			"The absolute path %q is outside the workspace.", written).
			Zh("请写相对于工作区的路径，例如 \""+path.Base(p)+"\"。", "绝对路径 %q 在工作区之外。")
	}
	p = path.Clean(p)
	if !fs.ValidPath(p) {
		return "", guest.Errorf(tool.Denied, "Write a path without \"..\".", "The path %q leaves the workspace.", written).
			Zh("请写不含 \"..\" 的路径。", "路径 %q 超出了工作区。")
	}
	return p, nil
}

// Stat finds what a model named. An unknown name gives an error that lists
// the nearest names there are.
func (t Tree) Stat(written string) (string, fs.FileInfo, error) {
	name, err := t.Name(written)
	if err != nil {
		return "", nil, err
	}
	info, err := fs.Stat(t.FS, name)
	if err != nil {
		return "", nil, t.explain(name, err)
	}
	return name, info, nil
}

// File is Stat for a regular file.
func (t Tree) File(written string) (string, fs.FileInfo, error) {
	name, info, err := t.Stat(written)
	switch {
	case err != nil:
		return "", nil, err
	case info.IsDir():
		return "", nil, guest.Errorf(tool.BadArgs, "Name a file. In it are: "+t.listing(name).String()+".", "%q is a folder.", name).
			Zh("请指定一个文件。其中有："+t.listing(name).In(tool.Zh)+"。", "%q 是文件夹。")
	case !info.Mode().IsRegular():
		return "", nil, guest.Errorf(tool.BadArgs, "Name a regular file.", "%q is not a regular file.", name).Zh("请指定一个普通文件。", "%q 不是普通文件。")
	}
	return name, info, nil
}

// Dir is Stat for a folder.
func (t Tree) Dir(written string) (string, error) {
	name, info, err := t.Stat(written)
	if err == nil && !info.IsDir() {
		return "", guest.Errorf(tool.BadArgs, "Name a folder, for example \""+path.Dir(name)+"\".", "%q is a file, not a folder.", name).
			Zh("请指定一个文件夹，例如 \""+path.Dir(name)+"\"。", "%q 是文件，不是文件夹。")
	}
	return name, err
}

// explain turns a file system's error into one a model can act on.
func (t Tree) explain(name string, err error) error {
	if _, rootErr := fs.Stat(t.FS, "."); rootErr != nil {
		return guest.Errorf(tool.Denied, "The operator must grant it in tools.toml under [grants].",
			"No folder is granted at %s.", t.Root).
			Zh("需由管理员在 tools.toml 的 [grants] 中授权。", "%s 没有获得文件夹授权。")
	}
	if errors.Is(err, fs.ErrPermission) {
		return guest.Errorf(tool.Denied, "", "%q may not be read.", name).Zh("", "不允许读取 %q。")
	}
	if !errors.Is(err, fs.ErrNotExist) && !t.missing(name) {
		return guest.Errorf(tool.Failed, "", "%q cannot be opened.", name).Zh("", "无法打开 %q。")
	}
	hint := t.suggest(name)
	return guest.Errorf(tool.BadArgs, hint.String(), "There is no %q in the workspace.", name).Zh(hint.In(tool.Zh), "工作区中没有 %q。")
}

// missing reports whether the parent folder does not list name: hosts differ
// in the error they give for a file that is not there.
func (t Tree) missing(name string) bool {
	entries, err := fs.ReadDir(t.FS, path.Dir(name))
	return err != nil || !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == path.Base(name) })
}

// listing names up to ten entries of a folder.
func (t Tree) listing(dir string) tool.Text {
	entries, err := fs.ReadDir(t.FS, dir)
	if err != nil || len(entries) == 0 {
		return tool.Text{Format: "nothing", Zh: "无"}
	}
	const most = 10
	var names []string
	for _, e := range entries[:min(most, len(entries))] {
		names = append(names, label(e))
	}
	if len(entries) > most {
		names = append(names, "…")
	}
	return tool.Textf("%s", strings.Join(names, ", "))
}

func label(e fs.DirEntry) string {
	if e.IsDir() {
		return e.Name() + "/"
	}
	return e.Name()
}
