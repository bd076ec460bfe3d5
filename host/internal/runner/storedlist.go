package runner

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/weirhost/weir/host/internal/atomicfile"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/sdk/tool"
)

// A storedList is a plugin's answer to the request for its tools, as it is stored.
type storedList struct {
	Answer []byte    `json:"answer,omitempty"`
	Failed string    `json:"failed,omitempty"`
	At     time.Time `json:"at"`
	// Memory is the cap under which it failed; under another it may succeed.
	Memory tool.Bytes `json:"memory,omitempty"`
}

func (r storedList) description() registry.Description {
	if r.Failed != "" {
		return registry.Description{Err: errors.New(r.Failed)}
	}
	return registry.Description{Answer: r.Answer}
}

func (d *ToolLister) file(key string) string { return filepath.Join(d.dir, key+".json") }

// readStored returns an answer that an earlier run stored.
func (d *ToolLister) readStored(key string) (r storedList, ok bool) {
	if d.dir == "" {
		return r, false
	}
	st, err := os.Stat(d.file(key))
	if err != nil || st.Size() > 2*listBytes {
		return r, false
	}
	data, err := os.ReadFile(d.file(key))
	if err != nil || json.Unmarshal(data, &r) != nil {
		return r, false
	}
	return r, r.Failed != "" || len(r.Answer) > 0
}

// store writes an answer, as a whole or not at all. If that fails the plugin is asked
// again in the next run.
func (d *ToolLister) store(key string, r storedList) {
	if d.dir == "" {
		return
	}
	data, err := json.Marshal(r)
	if err == nil {
		err = os.MkdirAll(d.dir, 0o700)
	}
	if err == nil {
		err = atomicfile.Write(d.file(key), ".*.tmp", 0o600, data)
	}
	if err != nil {
		d.cfg.Logger.Warn("a plugin's list of tools cannot be stored", "error", err)
	}
}

func (d *ToolLister) deleteStored(key string) {
	if d.dir != "" {
		_ = os.Remove(d.file(key)) // at worst the old answer stays
	}
}

// prune deletes the oldest files of a folder until at most so many are left. It
// ignores errors: a file too many does no harm.
func prune(dir string, most int) {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) <= most {
		return
	}
	age := func(e os.DirEntry) time.Time {
		if info, err := e.Info(); err == nil {
			return info.ModTime()
		}
		return time.Time{}
	}
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return age(a).Compare(age(b)) })
	for _, e := range entries[:len(entries)-most] {
		_ = os.Remove(filepath.Join(dir, e.Name()))
	}
}
