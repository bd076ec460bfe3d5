package registry

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/weirhost/weir/host/internal/modindex"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/tool"
)

// A place locates a file: by its path, or by a name within a folder. A link must
// not lead out of that folder.
type place struct {
	dir  string // empty: name is a path
	name string
}

// readFile reads a regular file of at most limit bytes.
func readFile(path string, limit int64) ([]byte, error) {
	b, _, err := place{name: path}.read(limit)
	return b, err
}

// readBeside is readFile for a file that a manifest names. The file must be inside
// the manifest's folder, links resolved, because a model will read its content.
func readBeside(manifest, name string, limit int64) ([]byte, error) {
	b, _, err := place{filepath.Dir(manifest), name}.read(limit)
	return b, err
}

var errLeadsOut = msg.Errorf("a link leads out of the plugin's folder")

// stat facts at a file without opening it.
func (p place) stat() (info fs.FileInfo, err error) {
	if p.dir == "" {
		return os.Stat(p.name)
	}
	root, err := os.OpenRoot(p.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.Stat(p.name)
}

// read reads a regular file of at most limit bytes. info is its state before and
// after reading; it is nil if they differ.
func (p place) read(limit int64) (b []byte, info fs.FileInfo, err error) {
	if p.dir == "" {
		return readBy(os.Stat, os.Open, p.name, limit)
	}
	root, err := os.OpenRoot(p.dir)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	b, info, err = readBy(root.Stat, root.Open, p.name, limit)
	if err != nil && leadsOut(p.dir, p.name) {
		err = errLeadsOut
	}
	return b, info, err
}

// leadsOut reports whether a link out of dir is why a file was not opened. It only
// explains the error of os.Root.
func leadsOut(dir, name string) bool {
	real, err := filepath.EvalSymlinks(filepath.Join(dir, name))
	if err != nil {
		return false
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return false
	}
	rel, err := filepath.Rel(dir, real)
	return err != nil || !filepath.IsLocal(rel)
}

func readBy(stat func(string) (os.FileInfo, error), open func(string) (*os.File, error), path string, limit int64) ([]byte, fs.FileInfo, error) {
	st, err := stat(path)
	if err != nil {
		return nil, nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, nil, msg.Errorf("it is not a regular file")
	}
	if st.Size() > limit {
		return nil, nil, tooLong{st.Size(), limit}
	}
	f, err := open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	// The file may have grown, or been replaced, since the first stat.
	before, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	b := bytes.NewBuffer(make([]byte, 0, min(before.Size(), limit)+bytes.MinRead))
	_, err = b.ReadFrom(io.LimitReader(f, limit+1))
	if err == nil && int64(b.Len()) > limit {
		err = tooLong{int64(b.Len()), limit}
	}
	if err != nil {
		return nil, nil, err
	}
	if after, err := f.Stat(); err != nil || !modindex.Same(before, after) || after.Size() != int64(b.Len()) {
		before = nil
	}
	return b.Bytes(), before, nil
}

// tooLong is the error for a file over the limit.
type tooLong struct{ size, most int64 }

func (e tooLong) Error() string { return e.MsgText().String() }

// MsgText returns the sentence.
func (e tooLong) MsgText() tool.Text {
	return tool.Textf("it is %d bytes long, and at most %d are read", e.size, e.most)
}
