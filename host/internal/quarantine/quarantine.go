// Package quarantine lists the modules that could not be compiled, in a file that
// survives a crash of the host.
//
// A compiler knows no deadline, and some modules end its process. So the host compiles
// each module in a child, records the attempt with [List.Begin] before it begins, and
// its outcome with [List.Release], [List.Undo] or [List.End]. A module with a final
// entry, or with [MaxTries] interrupted attempts, is not compiled again: see
// [List.Held].
package quarantine

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/internal/atomicfile"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/tool"
)

// MaxTries is how often compiling a module may be interrupted by something else before
// the module counts as the cause.
const MaxTries = 2

// maxBytes is the size limit of the file.
const maxBytes = 16 << 20

// An Entry is a module that is being compiled for the first time, or that could not be
// compiled.
type Entry struct {
	Plugin string    `json:"plugin"` // the name it had
	Why    tool.Text `json:"why"`
	When   time.Time `json:"when"` // of the last try
	Tries  int       `json:"tries"`
	Final  bool      `json:"final,omitempty"` // the module is the cause
}

func (e Entry) equal(o Entry) bool {
	return e.Plugin == o.Plugin && e.Why.String() == o.Why.String() && e.When.Equal(o.When) && e.Tries == o.Tries && e.Final == o.Final
}

// A savedEntry is an Entry in the file. Why is there in English, for people who read
// the file, and WhyText with its arguments apart, for other languages.
type savedEntry struct {
	Entry
	WhyText msg.Wire `json:"why_text,omitzero"`
}

// A List is a list, in a file, of modules that could not be compiled. They are
// not compiled again, not even after a restart. An entry is on the disk before its
// attempt begins. It is safe for concurrent use by one process.
type List struct {
	file string // empty: in memory only

	mu      sync.Mutex
	entries map[string]Entry // by sha256 of the module, in hex
}

// Open reads the file. A missing or damaged file is an empty list.
func Open(file string, log hclog.Logger) (*List, error) {
	q := &List{file: file, entries: map[string]Entry{}}
	if file == "" {
		return q, nil
	}
	if info, err := os.Stat(file); err == nil && (!info.Mode().IsRegular() || info.Size() > maxBytes) {
		q.putAside(log, errors.New("it is no regular file, or too long"))
		return q, nil
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return q, nil
	}
	if err != nil {
		return nil, msg.Errorf("the quarantine list %s cannot be read: %w; remove the file to try every plugin again", file, err)
	}
	var saved map[string]savedEntry
	if err := json.Unmarshal(text, &saved); err != nil {
		q.putAside(log, err)
		return q, nil
	}
	for digest, e := range saved {
		if why, err := e.WhyText.Text(func(s string) string { return s }); err == nil && !why.IsZero() {
			e.Why = why
		}
		q.entries[digest] = e.Entry
	}
	return q, nil
}

// putAside renames a damaged file. Starting without the list is safe: it costs one
// more attempt for each module on it, in a child with limits.
func (q *List) putAside(log hclog.Logger, damage error) {
	bad := q.file + ".bad"
	if err := os.Rename(q.file, bad); err != nil {
		log.Warn("the list of quarantined plugins is damaged and cannot be moved aside; every plugin is tried again", "file", q.file, "damage", damage, "error", err)
		return
	}
	log.Warn("the list of quarantined plugins is damaged and was moved aside; every plugin is tried again", "file", q.file, "moved_to", bad, "damage", damage)
}

// Held returns the entry of a module that is not compiled again.
func (q *List) Held(digest string) (Entry, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e, ok := q.entries[digest]
	return e, ok && (e.Final || e.Tries >= MaxTries)
}

// Release removes a module from the list, after it was compiled or to try it again.
func (q *List) Release(digest string) error {
	return q.change(func(all map[string]Entry) { delete(all, digest) })
}

// Begin records that an attempt begins.
func (q *List) Begin(digest, plugin string) error {
	return q.change(func(all map[string]Entry) {
		all[digest] = Entry{
			Plugin: plugin, Why: tool.Text{Format: "the host ended while the plugin was being compiled"}, When: time.Now().UTC().Truncate(time.Second),
			Tries: all[digest].Tries + 1,
		}
	})
}

// Undo removes an attempt that we stopped ourselves.
func (q *List) Undo(digest string) error {
	return q.change(func(all map[string]Entry) {
		e := all[digest]
		if e.Tries--; e.Tries <= 0 {
			delete(all, digest)
			return
		}
		all[digest] = e
	})
}

// End records the outcome of an attempt.
func (q *List) End(digest string, why tool.Text, final bool) error {
	return q.change(func(all map[string]Entry) {
		e := all[digest]
		e.Why, e.Final = why, final
		all[digest] = e
	})
}

// change applies f and writes the file before the result is visible.
func (q *List) change(f func(map[string]Entry)) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	next := maps.Clone(q.entries)
	f(next)
	if maps.EqualFunc(next, q.entries, Entry.equal) {
		return nil
	}
	if q.file != "" {
		saved := map[string]savedEntry{}
		for digest, e := range next {
			saved[digest] = savedEntry{e, msg.ToWire(e.Why)}
		}
		if err := replace(q.file, saved); err != nil {
			return err
		}
	}
	q.entries = next
	return nil
}

// replace writes a file atomically: after a crash it has the old content or the new.
func replace(file string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	if err := atomicfile.WriteSynced(file, filepath.Base(file)+".*.tmp", 0o600, append(text, '\n')); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(file))
	if err != nil {
		return err
	}
	_ = dir.Sync() // not every file system can
	return dir.Close()
}
