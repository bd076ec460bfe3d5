package clientfile

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/weirhost/weir/host/internal/atomicfile"
	"github.com/weirhost/weir/host/internal/msg"
)

// A Record is what weir wrote into the file of one client. It has no token.
type Record struct {
	File  string  `json:"file"`
	Made  bool    `json:"made,omitempty"` // the file was not there before
	Wrote []Wrote `json:"wrote"`
}

// Wrote is one value.
type Wrote struct {
	Path   []string        `json:"path"`
	Value  string          `json:"value"`            // JSON, with tokens veiled
	Before json.RawMessage `json:"before,omitempty"` // what it replaced; nil: nothing
}

// Records are those of all clients by name.
type Records map[string]Record

// ReadRecords reads the records. Without the file there are none.
func ReadRecords(file string) (Records, error) {
	out := Records{}
	raw, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		return nil, msg.Usagef("correct or remove it", "%s cannot be read: %s", file, msg.Reason(err))
	}
	return out, nil
}

// Write writes the records.
func (r Records) Write(file string) error {
	raw, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		err = atomicfile.WriteSynced(file, ".installed-*.json", 0o600, append(raw, '\n'))
	}
	if err != nil {
		return msg.Errorf("%s cannot be written: %w", file, msg.Reason(err))
	}
	return nil
}

// Record returns what is to be remembered when the values are written into the file, in which
// weir wrote what old says before.
func (f *File) Record(old Record, sets []Set) (Record, error) {
	out := Record{File: f.Path, Made: !f.exists || old.Made && old.File == f.Path}
	if old.File == f.Path {
		out.Wrote = slices.Clone(old.Wrote)
	}
	for _, s := range sets {
		if s.Own {
			continue
		}
		now, err := f.edit.get(f.Text, s.Path)
		if err != nil {
			return out, f.damaged(err)
		}
		value, err := json.Marshal(s.Value)
		if err != nil {
			return out, err
		}
		w := Wrote{Path: s.Path, Value: veiledToken(string(value))}
		if now != "" {
			w.Before = json.RawMessage(now)
		}
		i := slices.IndexFunc(out.Wrote, func(o Wrote) bool { return slices.Equal(o.Path, s.Path) })
		switch {
		case i < 0:
			out.Wrote = append(out.Wrote, w)
		case veiledToken(now) == out.Wrote[i].Value: // it is weir's own
			out.Wrote[i].Value = w.Value
		default:
			out.Wrote[i] = w
		}
	}
	return out, nil
}

// Without returns the text of the file without what weir wrote into it: its own tables, and
// those values that nobody has changed since. What these replaced is back.
func (f *File) Without(a Agent, r Record) (string, error) {
	text := f.Text
	var err error
	for _, s := range a.sets(Weir{Model: ServerName}) {
		if s.Own && err == nil {
			text, err = f.edit.remove(text, s)
		}
	}
	for _, w := range r.Wrote {
		if err != nil || r.File != f.Path {
			break
		}
		var now string
		if now, err = f.edit.get(text, w.Path); err != nil || veiledToken(now) != w.Value {
			continue
		}
		if s := (Set{Path: w.Path, Value: w.Before}); w.Before == nil {
			text, err = f.edit.remove(text, s)
		} else {
			text, err = f.edit.set(text, s)
		}
	}
	if err != nil {
		return "", f.damaged(err)
	}
	return text, nil
}

// Empty reports whether a text says nothing.
func Empty(text string) bool {
	return strings.Join(strings.Fields(text), "") == "{}" || strings.TrimSpace(text) == ""
}

func veiledToken(text string) string { return token().ReplaceAllString(text, "…") }
