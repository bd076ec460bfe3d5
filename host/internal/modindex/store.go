package modindex

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/weirhost/weir/host/internal/atomicfile"
)

const (
	// form is the number of the file's form. It goes up when the form changes,
	// and when the same bytes of a module come to other Facts.
	form = 3
	// maxFile bounds the file, in bytes.
	maxFile = 64 << 20
	// mostFiles bounds how many files are remembered, mostManifests how many
	// manifests, which nothing tells to be gone.
	mostFiles     = 20_000
	mostManifests = 2_000
)

// A store is the index on the disk: a line that says what follows, and JSON.
type store struct {
	file    string // empty: there is none
	version string
}

// A head is the first line.
type head struct {
	Form    int    `json:"weir_index"`
	Version string `json:"version"`
	SHA256  string `json:"sha256"` // of everything after this line
}

// read returns what the file says, and nothing at all unless all of it is sound.
func (s store) read() known {
	nothing := known{map[string]entry{}, map[string]bool{}}
	text, ok := s.text()
	if !ok {
		return nothing
	}
	line, body, _ := bytes.Cut(text, []byte("\n"))
	var h head
	var k known
	if json.Unmarshal(line, &h) != nil || h != s.head(body) || json.Unmarshal(body, &k) != nil || k.Files == nil || k.Sound == nil {
		return nothing
	}
	return k
}

func (s store) head(body []byte) head {
	sum := sha256.Sum256(body)
	return head{form, s.version, hex.EncodeToString(sum[:])}
}

// text reads the file, if it is one that this user alone writes.
func (s store) text() ([]byte, bool) {
	if s.file == "" {
		return nil, false
	}
	f, err := open(s.file)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxFile || !private(info) {
		return nil, false
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	return text, err == nil && len(text) <= maxFile
}

// write replaces the file. It does not sync: after a loss of power a truncated
// file is detected and starts empty.
func (s store) write(k known) error {
	body, err := json.Marshal(k)
	if err != nil {
		return err
	}
	line, err := json.Marshal(s.head(body))
	if err != nil {
		return err
	}
	if len(line)+1+len(body) > maxFile {
		return errors.New("what is known of the modules takes too much room")
	}
	if err := os.MkdirAll(filepath.Dir(s.file), 0o700); err != nil {
		return err
	}
	return atomicfile.Write(s.file, filepath.Base(s.file)+".*.tmp", 0o600, append(append(line, '\n'), body...))
}

// pruned leaves out what is gone from the disk, what was refused, and what is too
// much: what this process did not ask for goes first.
func (k known) pruned(asked map[string]bool, files, manifests int) known {
	out := known{map[string]entry{}, map[string]bool{}}
	for _, mine := range []bool{true, false} {
		for path, e := range k.Files {
			if asked[path] != mine || e.Err != nil || len(out.Files) >= files {
				continue
			}
			if _, err := os.Stat(path); err == nil {
				out.Files[path] = e
			}
		}
		for sum := range k.Sound {
			if asked[sum] == mine && len(out.Sound) < manifests {
				out.Sound[sum] = true
			}
		}
	}
	return out
}
