package jail

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Everywhere returns absolute paths, followed by the other paths that lead to the same
// files because a file system, or a part of it, is mounted more than once: in a
// container the data folder is often a part of the workspace too. It returns names
// without a folder as they are.
func Everywhere(paths []string) []string {
	table, err := os.ReadFile("/proc/thread-self/mountinfo")
	if err != nil {
		return paths
	}
	return everywhere(mountsOf(string(table)), paths)
}

// A mounted is one line of the table of mounts: root is the folder of the file system
// that appears at the path at.
type mounted struct{ device, root, at string }

// mountsOf reads the format of /proc/PID/mountinfo.
func mountsOf(table string) (ms []mounted) {
	for line := range strings.Lines(table) {
		if f := strings.Fields(line); len(f) > 4 {
			ms = append(ms, mounted{device: f[2], root: unescaped(f[3]), at: unescaped(f[4])})
		}
	}
	return ms
}

// unescaped replaces the octal escapes that the kernel writes for blanks and backslashes.
func unescaped(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func everywhere(ms []mounted, paths []string) []string {
	out := slices.Clone(paths)
	for _, path := range paths {
		if bare(path) {
			continue
		}
		abs, err := filepath.Abs(path)
		if err != nil {
			continue
		}
		for _, other := range elsewhere(ms, settled(abs)) {
			if !slices.Contains(out, other) {
				out = append(out, other)
			}
		}
	}
	return out
}

// elsewhere returns the other paths of a file, and of what lies below it.
func elsewhere(ms []mounted, path string) (out []string) {
	var home *mounted // the mount that the path is in
	for i, m := range ms {
		if rel(m.at, path) != "" && (home == nil || len(m.at) >= len(home.at)) {
			home = &ms[i]
		}
	}
	if home == nil {
		return nil
	}
	inside := filepath.Join(home.root, rel(home.at, path))
	for i, m := range ms {
		switch {
		case &ms[i] == home || m.device != home.device:
		case rel(m.root, inside) != "":
			out = append(out, filepath.Join(m.at, rel(m.root, inside)))
		case rel(inside, m.root) != "":
			out = append(out, m.at)
		}
	}
	return out
}

// rel returns a path relative to a folder at or above it; empty: it is not below.
func rel(folder, path string) string {
	if r, err := filepath.Rel(folder, path); err == nil && filepath.IsLocal(r) {
		return r
	}
	return ""
}
