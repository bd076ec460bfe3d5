// Package ledger keeps what people approved: weir.lock, which names the bytes
// of every plugin that may run, and beside it a copy of those bytes.
//
// The lock is a file for people too: JSON, sorted, replaced whole. Keys that
// this version does not know are kept. It is read anew each time, so that what
// a person edits counts; only one process may write it.
package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Schema is the newest version of the lock that this package reads and writes.
const Schema = 1

// Bounds.
const (
	maxLock = 16 << 20 // bytes
	// Previous is how many copies are kept of a plugin beside the one in force.
	Previous = 3
	// maxHistory is how many approvals of a plugin are remembered.
	maxHistory = 20
)

// A Lock is what weir.lock says. It is not safe for concurrent use.
type Lock struct {
	Schema  int               `json:"schema"`
	Plugins map[string]*Entry `json:"plugins"`

	extra extra
}

// An Entry is what is known of one plugin.
type Entry struct {
	// Digest names the bytes that may run, which are among History; empty: none.
	Digest string `json:"digest,omitempty"`
	// Source is the file that describes the plugin: a move is a change.
	Source string `json:"source,omitempty"`
	// Held says that a person went back to Digest: nothing else takes its place
	// until the next approval.
	Held bool `json:"held,omitempty"`
	// Disabled is a person's word that the plugin stays out; nil: it does not.
	Disabled *Word `json:"disabled,omitempty"`
	// History is what was let in, the newest first.
	History []*Version `json:"history,omitempty"`

	extra extra
}

// A Word is what someone said, and when.
type Word struct {
	By string    `json:"by"`
	At time.Time `json:"at"`
}

// A Version is one set of bytes that was let in.
type Version struct {
	Digest         string    `json:"digest"`
	WasmSHA256     string    `json:"wasm_sha256"`
	ManifestSHA256 string    `json:"manifest_sha256"`
	Version        string    `json:"version,omitempty"`
	Source         string    `json:"source"`
	Powers         []Power   `json:"powers,omitempty"`
	By             string    `json:"by"`
	At             time.Time `json:"at"`
	// Copy is the source within the copy, as a slash path from the lock's own
	// folder of copies; empty: there is no copy any more.
	Copy string `json:"copy,omitempty"`

	extra extra
}

// A Power is what a version asked for, and whether it was granted when it was let in.
type Power struct {
	Kind    string `json:"kind"` // path, host or secret
	What    string `json:"what"`
	Reason  string `json:"reason,omitempty"`
	Granted bool   `json:"granted"`
}

// A Fault is what is wrong with the lock or the copies, and what to do.
type Fault struct{ Msg, Fix string }

func (f *Fault) Error() string { return f.Msg }

// Version returns the version with that digest, or nil.
func (e *Entry) Version(digest string) *Version {
	if e == nil {
		return nil
	}
	for _, v := range e.History {
		if v.Digest == digest {
			return v
		}
	}
	return nil
}

// Current is the version that may run; nil: none.
func (e *Entry) Current() *Version {
	if e == nil || e.Digest == "" {
		return nil
	}
	return e.Version(e.Digest)
}

// Admit puts v in force. The same bytes let in twice are one row of the history.
func (e *Entry) Admit(v *Version) {
	if old := e.Version(v.Digest); old != nil {
		v.extra = old.extra
		e.History = slices.DeleteFunc(e.History, func(o *Version) bool { return o == old })
	}
	e.History = append([]*Version{v}, e.History...)
	if len(e.History) > maxHistory {
		e.History = e.History[:maxHistory]
	}
	e.Digest, e.Source, e.Held = v.Digest, v.Source, false
}

// Before is the newest version older than the one in force of which there is a
// copy; nil: none.
func (e *Entry) Before() *Version {
	if e == nil {
		return nil
	}
	i := slices.IndexFunc(e.History, func(v *Version) bool { return v.Digest == e.Digest })
	for _, v := range e.History[i+1:] {
		if v.Copy != "" {
			return v
		}
	}
	return nil
}

// Entry returns the entry of a plugin, made when there is none.
func (l *Lock) Entry(name string) *Entry {
	if l.Plugins == nil {
		l.Plugins = map[string]*Entry{}
	}
	if l.Plugins[name] == nil {
		l.Plugins[name] = &Entry{}
	}
	return l.Plugins[name]
}

// A Book is the lock's file with the folder of copies.
type Book struct{ File, Dir string }

// Read reads the lock; one that is missing is empty. The error is a *Fault.
func (b Book) Read() (*Lock, error) {
	text, err := os.ReadFile(b.File)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &Lock{Schema: Schema, Plugins: map[string]*Entry{}}, nil
	case err != nil:
		return nil, &Fault{fmt.Sprintf("%s cannot be read: %s", b.File, cause(err)), "let the user that runs weir read it"}
	case len(text) > maxLock:
		return nil, b.broken(fmt.Sprintf("it is %d bytes long", len(text)))
	}
	l, ok := plain(text)
	if !ok {
		l = &Lock{}
		dec := json.NewDecoder(bytes.NewReader(text))
		if err := dec.Decode(l); err != nil {
			return nil, b.broken(words(err, text))
		}
		if dec.More() {
			return nil, b.broken("something follows behind its JSON")
		}
	}
	if l.Schema > Schema {
		return nil, &Fault{fmt.Sprintf("%s was written by a newer weir (schema %d; this one reads %d)", b.File, l.Schema, Schema), "update weir, or use another --data folder"}
	}
	if err := l.check(); err != nil {
		return nil, b.broken(err.Error())
	}
	return l, nil
}

// broken is the Fault of a lock that does not say what it should.
func (b Book) broken(why string) *Fault {
	return &Fault{fmt.Sprintf("%s is damaged: %s", b.File, why), fmt.Sprintf("mend it, put a backup in its place, or move it away and approve the plugins again: mv %s %s.bad", quoted(b.File), quoted(b.File))}
}

// words says what is wrong with a text that is no lock, and where.
func words(err error, text []byte) string {
	if se, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Sprintf("the JSON breaks in line %d", 1+bytes.Count(text[:min(int(se.Offset), len(text))], []byte("\n")))
	}
	if te, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Sprintf("%s has the wrong type, %s", te.Field, te.Value)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return "it is empty"
	}
	return "the JSON is cut off or of the wrong shape"
}

var hexDigest = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{64}$`) })

// check refuses what the rest of this package relies on.
func (l *Lock) check() error {
	if l.Schema < 1 {
		return errors.New("schema is missing")
	}
	for name, e := range l.Plugins {
		if e == nil {
			return fmt.Errorf("plugins.%s is null", name)
		}
		for i, v := range e.History {
			switch {
			case v == nil || !hexDigest().MatchString(v.Digest):
				return fmt.Errorf("plugins.%s.history[%d] has no digest", name, i)
			case v.Copy != "" && !(filepath.IsLocal(filepath.FromSlash(v.Copy)) && strings.HasPrefix(v.Copy, v.Digest+"/")):
				return fmt.Errorf("plugins.%s.history[%d].copy leads out of the folder of copies", name, i)
			}
		}
		if e.Digest != "" && e.Current() == nil {
			return fmt.Errorf("plugins.%s.digest is not in its history", name)
		}
	}
	return nil
}

// Write replaces the lock whole; when it returns, the new one is on the disk.
// The error is a *Fault, and the old one stands.
func (b Book) Write(l *Lock) error {
	l.Schema = Schema
	text, err := json.MarshalIndent(l, "", "  ")
	if err == nil {
		err = replace(b.File, append(text, '\n'))
	}
	if err != nil {
		return &Fault{fmt.Sprintf("%s cannot be written: %s", b.File, cause(err)), "free some space, or let the user that runs weir write there"}
	}
	return nil
}
