// Package atomicfile replaces files in one step: who reads one sees the old content or the
// new, never a part.
package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
)

// Write replaces a file. The temporary file is beside it, with a name as os.CreateTemp
// makes it from pattern. After a loss of power the file may be truncated.
func Write(file, pattern string, mode os.FileMode, data []byte) error {
	return write(file, pattern, mode, data, func(*os.File) error { return nil })
}

// WriteSynced is Write of a file that is whole after a loss of power, too.
func WriteSynced(file, pattern string, mode os.FileMode, data []byte) error {
	return write(file, pattern, mode, data, (*os.File).Sync)
}

// Replace is WriteSynced with those permissions of the old file that are in allowed. It
// makes the file's folder.
func Replace(file, pattern string, allowed os.FileMode, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	mode := os.FileMode(0o644)
	if st, err := os.Stat(file); err == nil {
		mode = st.Mode().Perm()
	}
	return WriteSynced(file, pattern, mode&allowed, data)
}

func write(file, pattern string, mode os.FileMode, data []byte, sync func(*os.File) error) error {
	tmp, err := os.CreateTemp(filepath.Dir(file), pattern)
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	if err == nil {
		err = errors.Join(tmp.Chmod(mode), sync(tmp))
	}
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), file)
	}
	if err != nil {
		_ = os.Remove(tmp.Name()) // the first error is the one to tell
	}
	return err
}
