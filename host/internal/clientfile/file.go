package clientfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync"

	"github.com/weirhost/weir/host/internal/atomicfile"
	"github.com/weirhost/weir/host/internal/msg"
)

// A File is a client's file as it was read.
type File struct {
	Path string // with links resolved
	Text string // empty: there is no file

	exists bool
	edit   editor
}

// Read reads a file, which may be missing. A file in a repository is an error: what is
// written would be shared with it, a token too.
func Read(path string, isTOML bool) (*File, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if repository := repositoryOf(path); repository != "" {
		return nil, msg.Usagef("move the file out of it, or write the entry by hand without the token", "%s is in the repository %s, with which its token would be shared", path, repository)
	}
	f := &File{Path: path, edit: jsonEditor{}}
	if isTOML {
		f.edit = tomlEditor{}
	}
	text, err := os.ReadFile(path)
	f.Text, f.exists = string(text), err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, msg.Usagef("check its permissions", "%s cannot be read: %s", path, msg.Reason(err))
	}
	if _, err := f.edit.get(f.Text, nil); err != nil {
		return nil, f.damaged(err)
	}
	return f, nil
}

// damaged is the error of a file that is left as it is.
func (f *File) damaged(err error) error {
	return msg.Usagef("correct it and run this again", "%s is left as it is: %s", f.Path, err)
}

// repositoryOf returns the folder of the repository in which a file is; empty: none.
func repositoryOf(file string) string {
	dir := filepath.Dir(file)
	for _, err := os.Stat(dir); err != nil && filepath.Dir(dir) != dir; _, err = os.Stat(dir) {
		dir = filepath.Dir(dir) // it is made later
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	for {
		for _, name := range []string{".git", ".hg", ".jj"} {
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				return dir
			}
		}
		if filepath.Dir(dir) == dir {
			return ""
		}
		dir = filepath.Dir(dir)
	}
}

// With returns the text of the file with the values.
func (f *File) With(sets []Set) (string, error) {
	text := f.Text
	for _, s := range sets {
		var err error
		if text, err = f.edit.set(text, s); err != nil {
			return "", f.damaged(err)
		}
	}
	return text, nil
}

// Write replaces the text of the file, unless somebody changed it since it was read. A
// private file is for its owner alone.
func (f *File) Write(text string, private bool) error {
	now, err := os.ReadFile(f.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) || string(now) != f.Text {
		return msg.Usagef("run this again", "%s is left as it is: somebody changed it meanwhile", f.Path)
	}
	allowed := os.FileMode(0o777)
	if private {
		allowed = 0o700
	}
	if err := atomicfile.Replace(f.Path, ".weir-*.tmp", allowed, []byte(text)); err != nil {
		return msg.Usagef("free some space or check the folder's permissions", "%s cannot be written: %s", f.Path, msg.Reason(err))
	}
	return nil
}

// Remove removes the file, unless somebody changed it since it was read.
func (f *File) Remove() error {
	if now, err := os.ReadFile(f.Path); err != nil || string(now) != f.Text {
		return msg.Usagef("run this again", "%s is left as it is: somebody changed it meanwhile", f.Path)
	}
	return os.Remove(f.Path)
}

// token matches a token that was made for a client.
var token = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`weir_client_[A-Za-z0-9_-]{43}`) })

// Tokens returns the tokens for clients in a text.
func Tokens(text string) []string { return token().FindAllString(text, -1) }

// secret matches what no terminal should show: values of keys for keys.
var secret = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`("?(?:apiKey|Authorization)"?\s*[:=]\s*")[^"]+(")`)
})

// Veiled returns a text without the tokens in it.
func Veiled(text string) string {
	return token().ReplaceAllString(secret().ReplaceAllString(text, "${1}…${2}"), "…")
}
