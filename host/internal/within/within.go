// Package within reads regular files of bounded size that do not lead out of a folder.
package within

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

// A Place locates a file: by its path, or by a name within a folder. A link must
// not lead out of that folder.
type Place struct {
	Dir  string // empty: Name is a path
	Name string
}

// ReadFile reads a regular file of at most limit bytes. The error can be ErrLeadsOut
// or a TooLong.
func (p Place) ReadFile(limit int64) ([]byte, error) {
	b, _, err := p.Read(limit)
	return b, err
}

// ErrLeadsOut reports that a file is outside its folder.
var ErrLeadsOut = msg.Errorf("a link leads out of the plugin's folder")

// open opens the folder. The separator at the end makes the opening of a pipe that has
// taken its place an error: without it the opening would wait for a writer.
func (p Place) open() (*os.Root, error) { return os.OpenRoot(p.Dir + string(filepath.Separator)) }

// errNoFile reports that a name is that of a folder, a device or a pipe.
var errNoFile = msg.Errorf("it is not a regular file")

// Stat looks at a file without opening it.
func (p Place) Stat() (info fs.FileInfo, err error) {
	if p.Dir == "" {
		return os.Stat(p.Name)
	}
	root, err := p.open()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.Stat(p.Name)
}

// Read is ReadFile with the file's info: info is its state before and
// after reading; it is nil if they differ.
func (p Place) Read(limit int64) (b []byte, info fs.FileInfo, err error) {
	if p.Dir == "" {
		return readBy(os.Stat, os.OpenFile, p.Name, limit)
	}
	root, err := p.open()
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	b, info, err = readBy(root.Stat, root.OpenFile, p.Name, limit)
	if err != nil && leadsOut(p.Dir, p.Name) {
		err = ErrLeadsOut
	}
	return b, info, err
}

// maxText bounds what ReadText reads, in bytes.
const maxText = 4 << 20

// ReadText reads tools.toml, which may also be a pipe: the folder in which weir starts may
// be a stranger's. The error can be a TooLong.
func ReadText(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxText+1))
	if err == nil && len(b) > maxText {
		return nil, TooLong{int64(len(b)), maxText}
	}
	return b, err
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

func readBy(stat func(string) (os.FileInfo, error), open func(string, int, fs.FileMode) (*os.File, error), path string, limit int64) ([]byte, fs.FileInfo, error) {
	st, err := stat(path)
	if err != nil {
		return nil, nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, nil, errNoFile
	}
	if st.Size() > limit {
		return nil, nil, TooLong{st.Size(), limit}
	}
	f, err := open(path, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	// The file may have grown, or been replaced, since the first stat, also by a pipe.
	before, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, nil, errNoFile
	}
	b := bytes.NewBuffer(make([]byte, 0, min(before.Size(), limit)+bytes.MinRead))
	_, err = b.ReadFrom(io.LimitReader(f, limit+1))
	if err == nil && int64(b.Len()) > limit {
		err = TooLong{int64(b.Len()), limit}
	}
	if err != nil {
		return nil, nil, err
	}
	if after, err := f.Stat(); err != nil || !modindex.Same(before, after) || after.Size() != int64(b.Len()) {
		before = nil
	}
	return b.Bytes(), before, nil
}

// A TooLong is the error of a file over the limit, both in bytes.
type TooLong struct{ size, most int64 }

func (e TooLong) Error() string { return e.MsgText().String() }

// MsgText returns the sentence.
func (e TooLong) MsgText() tool.Text {
	return tool.Textf("it is %d bytes long, and at most %d are read", e.size, e.most)
}
