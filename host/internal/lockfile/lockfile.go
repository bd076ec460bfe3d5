// Package lockfile reads and writes weir.lock, which names the bytes of every
// plugin that may run, and the folder with copies of those bytes.
//
// The lock file is JSON with sorted keys, so that people can read and edit it. A
// Store loads it before every decision, so that edits take effect, and replaces it
// as a whole. Keys that this version does not know are preserved. Only one process
// may write it.
package lockfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// Schema is the newest version of the lock file that this package supports.
const Schema = 1

const (
	maxBytes = 16 << 20 // of the file
	// PreviousCopies is how many copies of a plugin are kept besides the current one.
	PreviousCopies = 3
	maxHistory     = 20 // approvals of one plugin
	maxEarlier     = 1000
)

// A Lock is the content of weir.lock. It is not safe for concurrent use.
type Lock struct {
	Schema  int               `json:"schema"`
	Plugins map[string]*Entry `json:"plugins"` // by name
	// Revision is another text after each change of a lock that several daemons share.
	// Empty: nothing is shared yet.
	Revision string `json:"-"`

	unknown unknownKeys
}

// An Entry is the state of one plugin.
type Entry struct {
	// Digest names the version of History that may run; empty means none.
	Digest string `json:"digest,omitempty"`
	// Source is the file that describes the plugin. A move counts as a change.
	Source string `json:"source,omitempty"`
	// RolledBack reports whether a person went back to Digest. No other version
	// replaces it before the next approval.
	RolledBack bool `json:"held,omitempty"`
	// Disabled says who disabled the plugin; nil means that it is enabled.
	Disabled *Decision `json:"disabled,omitempty"`
	// History lists the approved versions, the newest first.
	History []*Version `json:"history,omitempty"`
	// Earlier are the digests of versions that History has no longer, the newest first. Only a
	// lock that daemons share has them: a folder on another machine may stay at such a version.
	Earlier []string `json:"earlier,omitempty"`

	unknown unknownKeys
}

// A Decision says who decided something, and when.
type Decision struct {
	By string    `json:"by"`
	At time.Time `json:"at"`
}

// A Version is one approved version of a plugin.
type Version struct {
	Digest         string `json:"digest"`
	WasmSHA256     string `json:"wasm_sha256"`
	ManifestSHA256 string `json:"manifest_sha256"`
	Version        string `json:"version,omitempty"`
	Source         string `json:"source"`
	// Powers are the permissions that it asked for, each with whether it was
	// granted at the time of the approval.
	Powers []plugin.Ask `json:"powers,omitempty"`
	By     string       `json:"by"`
	At     time.Time    `json:"at"`
	// Copy is the source within the copy, as a slash path below the folder of
	// copies. It is empty when the copy was deleted.
	Copy string `json:"copy,omitempty"`

	unknown unknownKeys
}

// An Error is a problem with the lock file or the copies, and its fix.
type Error struct{ Msg, Fix tool.Text }

// Error returns the problem in English.
func (e *Error) Error() string { return e.Msg.String() }

// MsgText returns the problem as a Text, for translation.
func (e *Error) MsgText() tool.Text { return e.Msg }

// Version returns the version with that digest, nil if there is none. e may be nil.
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

// Current returns the version that may run, nil if there is none. e may be nil.
func (e *Entry) Current() *Version {
	if e == nil || e.Digest == "" {
		return nil
	}
	return e.Version(e.Digest)
}

// Had reports whether the version with that digest was ever approved. e may be nil.
func (e *Entry) Had(digest string) bool {
	return e.Version(digest) != nil || e != nil && slices.Contains(e.Earlier, digest)
}

// KeepEarlier adds to Earlier what History has no longer.
func (e *Entry) KeepEarlier(before []*Version) {
	for _, v := range slices.Backward(before) {
		if !e.Had(v.Digest) {
			e.Earlier = append([]string{v.Digest}, e.Earlier...)
		}
	}
	e.Earlier = e.Earlier[:min(len(e.Earlier), maxEarlier)]
}

// Approve makes v the current version. A version that is approved twice appears
// once in the history.
func (e *Entry) Approve(v *Version) {
	if old := e.Version(v.Digest); old != nil {
		v.unknown = old.unknown
		e.History = slices.DeleteFunc(e.History, func(o *Version) bool { return o == old })
	}
	e.History = append([]*Version{v}, e.History...)
	if len(e.History) > maxHistory {
		e.History = e.History[:maxHistory]
	}
	e.Digest, e.Source, e.RolledBack = v.Digest, v.Source, false
}

// Previous returns the newest version before the current one that has a copy, nil
// if there is none. e may be nil.
func (e *Entry) Previous() *Version {
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

// Entry returns the entry of a plugin. It adds one if there is none.
func (l *Lock) Entry(name string) *Entry {
	if l.Plugins == nil {
		l.Plugins = map[string]*Entry{}
	}
	if l.Plugins[name] == nil {
		l.Plugins[name] = &Entry{}
	}
	return l.Plugins[name]
}

// A Store reads and writes the lock file File and the folder Copies.
type Store struct{ File, Copies string }

// Load reads the lock file. A missing file is an empty lock. The error is an *Error.
func (s Store) Load() (*Lock, error) {
	info, err := os.Stat(s.File)
	switch {
	case err != nil: // reading it reports the error
	case !info.Mode().IsRegular():
		return nil, s.damaged(tool.Textf("it is not a regular file"))
	case info.Size() > maxBytes:
		return nil, s.damaged(tool.Textf("it is %d bytes long", info.Size()))
	}
	text, err := os.ReadFile(s.File)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &Lock{Schema: Schema, Plugins: map[string]*Entry{}}, nil
	case err != nil:
		return nil, &Error{tool.Textf("%s cannot be read: %s", s.File, msg.Reason(err)), tool.Textf("let the user that runs weir read it")}
	}
	return s.Decode(text)
}

// Decode returns the lock of a text. The error is an *Error about the file.
func (s Store) Decode(text []byte) (*Lock, error) {
	l, ok := decodeKnown(text)
	if !ok {
		l = &Lock{}
		dec := json.NewDecoder(bytes.NewReader(text))
		if err := dec.Decode(l); err != nil {
			return nil, s.damaged(decodeError(err, text))
		}
		if dec.More() {
			return nil, s.damaged(tool.Textf("there is text after its JSON"))
		}
	}
	if l.Schema > Schema {
		return nil, &Error{tool.Textf("%s was written by a newer weir (schema %d; this one reads %d)", s.File, l.Schema, Schema), tool.Textf("update weir, or use another --data folder")}
	}
	if problem := l.check(); !problem.IsZero() {
		return nil, s.damaged(problem)
	}
	return l, nil
}

func (s Store) damaged(why tool.Text) *Error {
	return &Error{
		tool.Textf("%s is damaged: %s", s.File, why),
		tool.Textf("repair it, restore a backup, or move it away and approve the plugins again: mv %s %s.bad", text.ShellWord(s.File), text.ShellWord(s.File)),
	}
}

// decodeError describes why a text is not a lock, and where.
func decodeError(err error, text []byte) tool.Text {
	if se, ok := errors.AsType[*json.SyntaxError](err); ok {
		return tool.Textf("its JSON is invalid in line %d", 1+bytes.Count(text[:min(int(se.Offset), len(text))], []byte("\n")))
	}
	if te, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return tool.Textf("%s has the wrong type, %s", te.Field, te.Value)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return tool.Textf("it is empty")
	}
	return tool.Textf("its JSON is cut off or has the wrong shape")
}

var hexDigest = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{64}$`) })

// check returns the first violation of what the rest of this package relies on;
// the zero Text means none.
func (l *Lock) check() tool.Text {
	if l.Schema < 1 {
		return tool.Textf("schema is missing")
	}
	for name, e := range l.Plugins {
		if e == nil {
			return tool.Textf("plugins.%s is null", name)
		}
		for i, v := range e.History {
			switch {
			case v == nil || !hexDigest().MatchString(v.Digest):
				return tool.Textf("plugins.%s.history[%d] has no digest", name, i)
			case v.Copy != "" && !(filepath.IsLocal(filepath.FromSlash(v.Copy)) && strings.HasPrefix(v.Copy, v.Digest+"/")):
				return tool.Textf("plugins.%s.history[%d].copy leads out of the folder of copies", name, i)
			}
		}
		if e.Digest != "" && e.Current() == nil {
			return tool.Textf("plugins.%s.digest is not in its history", name)
		}
	}
	return tool.Text{}
}

// Encode returns the text of a lock.
func (l *Lock) Encode() ([]byte, error) {
	l.Schema = Schema
	text, err := json.MarshalIndent(l, "", "  ")
	return append(text, '\n'), err
}

// Save replaces the lock file and syncs it to disk. On an error, which is an
// *Error, the file is unchanged.
func (s Store) Save(l *Lock) error {
	text, err := l.Encode()
	if err == nil {
		err = replaceFile(s.File, text)
	}
	if err != nil {
		return &Error{tool.Textf("%s cannot be written: %s", s.File, msg.Reason(err)), tool.Textf("free some space, or let the user that runs weir write there")}
	}
	return nil
}
