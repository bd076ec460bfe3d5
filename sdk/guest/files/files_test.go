package files_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/weirhost/weir/sdk/guest/files"
	"github.com/weirhost/weir/sdk/tool"
)

// tree makes a real folder with these files; a name that ends in "/" is an
// empty folder.
func tree(t *testing.T, names ...string) files.Tree {
	t.Helper()
	dir := t.TempDir()
	for _, n := range names {
		p := filepath.Join(dir, filepath.FromSlash(n))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if strings.HasSuffix(n, "/") {
			err = os.MkdirAll(p, 0o755)
		} else {
			err = os.WriteFile(p, []byte("text of "+n), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return files.Tree{FS: os.DirFS(dir), Root: files.Workspace}
}

func code(err error) tool.Code {
	if e, ok := errors.AsType[*tool.Error](err); ok {
		return e.Code
	}
	return ""
}

func TestName(t *testing.T) {
	tr := files.Tree{Root: "/workspace"}
	for _, tt := range []struct{ written, want, why string }{
		{"a.go", "a.go", "plain"},
		{"./sub/a.go", "sub/a.go", "with a dot in front"},
		{" a.go ", "a.go", "with white space around"},
		{"/workspace/sub/a.go", "sub/a.go", "by its guest path"},
		{"/workspace", ".", "the folder itself"},
		{"/workspace/", ".", "with a slash behind"},
		{"", ".", "nothing is the folder itself"},
		{".", ".", "as is a dot"},
		{"sub/", "sub", "a slash behind a folder"},
		{"sub/../a.go", "a.go", "up and down again stays inside"},
		{`sub\a.go`, "sub/a.go", "a path as Windows writes it"},
		{"workspace/a", "workspace/a", "a folder of that name is no root"},
		{"文档/说明.md", "文档/说明.md", "names in Chinese"},
	} {
		got, err := tr.Name(tt.written)
		if err != nil || got != tt.want {
			t.Errorf("%s: Name(%q) = %q, %v; want %q", tt.why, tt.written, got, err, tt.want)
		}
	}
	for _, tt := range []struct{ written, why string }{
		{"../a", "up"},
		{"a/../../b", "up behind a detour"},
		{"/workspace/../etc/passwd", "up behind the root"},
		{"/etc/passwd", "an absolute path"},
		{"/workspaces/a", "a root that only begins alike"},
		{`C:\a`, "a drive of Windows"},
		{`..\a`, "up as Windows writes it"},
		{"a\x00/../../b", "with a zero byte"},
	} {
		if got, err := tr.Name(tt.written); code(err) != tool.Denied {
			t.Errorf("%s: Name(%q) = %q, %v; want denied", tt.why, tt.written, got, err)
		}
	}
}

func TestMissingNamesTheNearest(t *testing.T) {
	tr := tree(t, "README.md", "agent/loop.go", "agent/parse/parse.go", "host/host.go", "host/config.go", ".git/loop.go", "empty/")
	for _, tt := range []struct{ written, hint, why string }{
		{"readme.md", "Did you mean README.md?", "another case"},
		{"loop.go", "Did you mean agent/loop.go?", "the right name in another folder, .git never"},
		{"agent/lop.go", "Did you mean agent/loop.go?", "a misspelling"},
		{"agent/parse/parse", "Did you mean agent/parse, agent/parse/parse.go?", "without its ending"},
		{"host/zebra_crossing.txt", "In host are: config.go, host.go.", "nothing is near: what the folder holds"},
		{"host/deep/er/zebra_crossing", "In host are: config.go, host.go.", "from where the path breaks off"},
		{"empty/zebra_crossing", "In empty are: nothing.", "an empty folder"},
	} {
		_, _, err := tr.File(tt.written)
		e, ok := errors.AsType[*tool.Error](err)
		if !ok || e.Code != tool.BadArgs || !strings.Contains(e.Msg, "There is no") || e.Hint != tt.hint {
			t.Errorf("%s: %v, want %s", tt.why, err, tt.hint)
		}
	}
}

func TestFileAndDir(t *testing.T) {
	tr := tree(t, "a.txt", "sub/b.txt", "many/01", "many/02", "many/03", "many/04", "many/05", "many/06", "many/07", "many/08", "many/09", "many/10", "many/11")
	if name, info, err := tr.File("/workspace/sub/b.txt"); err != nil || name != "sub/b.txt" || info.Size() != 17 {
		t.Errorf("File: %q %v", name, err)
	}
	if name, err := tr.Dir(""); err != nil || name != "." {
		t.Errorf("Dir: %q %v", name, err)
	}
	_, _, err := tr.File("many")
	if e, _ := errors.AsType[*tool.Error](err); code(err) != tool.BadArgs || !strings.Contains(e.Hint, "01, 02, 03, 04, 05, 06, 07, 08, 09, 10, ….") {
		t.Errorf("a folder for a file: %v", err)
	}
	if _, err := tr.Dir("sub/b.txt"); code(err) != tool.BadArgs {
		t.Errorf("a file for a folder: %v", err)
	}
	if _, err := tr.Dir("../x"); code(err) != tool.Denied {
		t.Errorf("outside: %v", err)
	}
}

func TestNothingGranted(t *testing.T) {
	tr := files.Tree{FS: os.DirFS(filepath.Join(t.TempDir(), "absent")), Root: files.Workspace}
	_, _, err := tr.File("a.txt")
	if code(err) != tool.Denied || !strings.Contains(err.Error(), "/workspace") {
		t.Errorf("File: %v", err)
	}
	if err := tr.Walk(".", func(files.Entry) error { return nil }); code(err) != tool.Denied {
		t.Errorf("Walk: %v", err)
	}
}

// closed is a file system whose files exist and may not be opened.
type closed struct{ fs.FS }

func (c closed) Open(name string) (fs.File, error) {
	if name == "secret" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	if name == "odd" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("I/O error")}
	}
	return c.FS.Open(name)
}

func TestFileThatCannotBeOpened(t *testing.T) {
	tr := files.Tree{FS: closed{fstest.MapFS{"secret": {}, "odd": {}}}, Root: files.Workspace}
	if _, _, err := tr.File("secret"); code(err) != tool.Denied {
		t.Errorf("no permission: %v", err)
	}
	if _, _, err := tr.File("odd"); code(err) != tool.Failed || strings.Contains(err.Error(), "I/O") {
		t.Errorf("an error of the system: %v", err)
	}
}

func TestWalk(t *testing.T) {
	tr := tree(t, "b/x.go", "a.go", ".git/config", "node_modules/m/i.js", "c/d/e.go", "c/__pycache__/p.pyc")
	var got []string
	if err := tr.Walk(".", func(e files.Entry) error { got = append(got, e.Name); return nil }); err != nil {
		t.Fatal(err)
	}
	want := []string{".git", "a.go", "b", "b/x.go", "c", "c/__pycache__", "c/d", "c/d/e.go", "node_modules"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}

	got = nil
	err := tr.Walk("c", func(e files.Entry) error {
		if e.DirEntry.Name() == "__pycache__" {
			return fs.SkipDir
		}
		got = append(got, e.Name)
		if e.Depth == 2 {
			return fs.SkipAll
		}
		return nil
	})
	if err != nil || !slices.Equal(got, []string{"c/d", "c/d/e.go"}) {
		t.Errorf("stopped walk: %v %v", got, err)
	}
	failed := errors.New("stop")
	if err := tr.Walk(".", func(files.Entry) error { return failed }); !errors.Is(err, failed) {
		t.Errorf("an error of visit is lost: %v", err)
	}
}

func TestBinary(t *testing.T) {
	for _, tt := range []struct{ head, want, why string }{
		{"", "", "an empty file is text"},
		{"package main\n", "", "code"},
		{"中文", "", "Chinese"},
		{"caf\xe9 au lait", "", "Latin-1 is text"},
		{"\x1b[31mred\x1b[0m", "", "colours of a terminal are text"},
		{"\xff\xfeh\x00i\x00", "", "UTF-16 with its mark is text"},
		{"a\x00b", "binary data", "a zero byte"},
		{"\x01\x02\x03\x04abc", "binary data", "control characters"},
		{"\x89PNG\r\n\x1a\n", "a PNG image", "by its beginning"},
		{"%PDF-1.7", "a PDF document", "although it begins as text"},
		{"PK\x03\x04", "a ZIP archive or office document", "workbooks too"},
		{"\x00asm\x01", "a WebAssembly module", "a guest"},
	} {
		if got := files.Binary([]byte(tt.head)); got != tt.want {
			t.Errorf("%s: Binary(%q) = %q, want %q", tt.why, tt.head, got, tt.want)
		}
	}
}

func TestText(t *testing.T) {
	for _, tt := range []struct{ in, want, why string }{
		{"plain", "plain", "UTF-8 stays"},
		{"\ufeffmark", "mark", "without its mark"},
		{"\xff\xfeh\x00i\x00", "hi", "UTF-16, low byte first"},
		{"\xfe\xff\x4e\x2d\x65\x87", "中文", "high byte first"},
		{"\xff\xfe\x3d\xd8\x00\xde", "😀", "a pair"},
		{"\xff\xfe\x3d\xd8a\x00", "a", "half a pair is dropped"},
		{"\xff\xfea\x00b", "a", "half a unit is dropped"},
		{"caf\xe9", "caf\xe9", "what is no UTF-8 is left to the host"},
	} {
		if got := string(files.Text([]byte(tt.in))); got != tt.want {
			t.Errorf("%s: Text(%q) = %q, want %q", tt.why, tt.in, got, tt.want)
		}
	}
}

func FuzzName(f *testing.F) {
	for _, s := range []string{"a/../..", "/workspace/x", `..\..`, "C:x", "//a", "."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, written string) {
		name, err := files.Tree{Root: "/workspace"}.Name(written)
		if err == nil && !fs.ValidPath(name) || err != nil && code(err) != tool.Denied {
			t.Errorf("Name(%q) = %q, %v", written, name, err)
		}
	})
}
