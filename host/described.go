package host

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"
)

func (d *describer) file(key string) string { return filepath.Join(d.dir, key+".json") }

// recall reads an answer that an earlier run kept.
func (d *describer) recall(key string) (r remembered, ok bool) {
	if d.dir == "" {
		return r, false
	}
	st, err := os.Stat(d.file(key))
	if err != nil || st.Size() > 2*describeBytes {
		return r, false
	}
	text, err := os.ReadFile(d.file(key))
	if err != nil || json.Unmarshal(text, &r) != nil {
		return r, false
	}
	return r, r.Failed != "" || len(r.Answer) > 0
}

// keep writes an answer down, whole or not at all. Without it the plugin is
// asked again.
func (d *describer) keep(key string, r remembered) {
	if d.dir == "" {
		return
	}
	text, err := json.Marshal(r)
	if err == nil {
		err = os.MkdirAll(d.dir, 0o700)
	}
	var tmp *os.File
	if err == nil {
		tmp, err = os.CreateTemp(d.dir, ".*.tmp")
	}
	if err == nil {
		_, err = tmp.Write(text)
		if err = errors.Join(err, tmp.Close()); err == nil {
			err = os.Rename(tmp.Name(), d.file(key))
		}
		if err != nil {
			os.Remove(tmp.Name())
		}
	}
	if err != nil {
		d.h.log.Warn("a plugin's list of tools cannot be kept", "error", err)
	}
}

// prune removes the oldest files of a folder until at most so many are left. A
// file that stays all the same does no harm.
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
