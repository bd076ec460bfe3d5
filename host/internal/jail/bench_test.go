package jail

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkSmallFile measures what a call with a folder costs beside its guest: the mount, and
// one file that is opened, read and closed. hidden has as many paths as weir hides.
func BenchmarkSmallFile(b *testing.B) {
	dir, data := b.TempDir(), b.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), make([]byte, 1000), 0o600); err != nil {
		b.Fatal(err)
	}
	hide := []string{EnvFile}
	for n := range 20 {
		hide = append(hide, filepath.Join(data, fmt.Sprint(n)))
		if err := os.WriteFile(hide[n+1], nil, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	for name, m := range map[string]Mount{"bare": {Guest: "/w", Host: dir}, "hidden": {Guest: "/w", Host: dir, Hide: hide, Keep: []string{"tools.toml"}}} {
		b.Run(name, func(b *testing.B) {
			buf := make([]byte, 2000)
			for b.Loop() {
				j, err := Open([]Mount{m})
				if err != nil {
					b.Fatal(err)
				}
				f, errno := j.Volumes()[0].FS.OpenFile("a.txt", 0, 0)
				if errno != 0 {
					b.Fatal(errno)
				}
				if n, errno := f.Read(buf); n != 1000 || errno != 0 {
					b.Fatal(n, errno)
				}
				if errno := f.Close(); errno != 0 {
					b.Fatal(errno)
				}
				if err := j.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
