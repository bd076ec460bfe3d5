package lockfile

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
)

// unknownKeys are the keys of an object that this version does not know. They are
// written back: an older weir deletes nothing from a newer one's file.
type unknownKeys map[string]json.RawMessage

// The types without their methods, which encode as ordinary objects.
type (
	plainLock    Lock
	plainEntry   Entry
	plainVersion Version
)

// UnmarshalJSON preserves unknown keys.
func (l *Lock) UnmarshalJSON(text []byte) (err error) {
	l.unknown, err = split(text, (*plainLock)(l))
	return err
}

// MarshalJSON includes the unknown keys.
func (l *Lock) MarshalJSON() ([]byte, error) { return merge((*plainLock)(l), l.unknown) }

// UnmarshalJSON preserves unknown keys.
func (e *Entry) UnmarshalJSON(text []byte) (err error) {
	e.unknown, err = split(text, (*plainEntry)(e))
	return err
}

// MarshalJSON includes the unknown keys.
func (e *Entry) MarshalJSON() ([]byte, error) { return merge((*plainEntry)(e), e.unknown) }

// UnmarshalJSON preserves unknown keys.
func (v *Version) UnmarshalJSON(text []byte) (err error) {
	v.unknown, err = split(text, (*plainVersion)(v))
	return err
}

// MarshalJSON includes the unknown keys.
func (v *Version) MarshalJSON() ([]byte, error) { return merge((*plainVersion)(v), v.unknown) }

// The types without methods at every level.
type (
	bareLock struct {
		plainLock
		Plugins map[string]*bareEntry `json:"plugins"`
	}
	bareEntry struct {
		plainEntry
		History []*plainVersion `json:"history"`
	}
)

// decodeKnown decodes a lock without unknown keys in one pass, since each start
// reads a lock of up to a thousand plugins. It returns false for any other text.
func decodeKnown(text []byte) (*Lock, bool) {
	var b bareLock
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if dec.Decode(&b) != nil || dec.More() {
		return nil, false
	}
	l := (*Lock)(&b.plainLock)
	l.Plugins = make(map[string]*Entry, len(b.Plugins))
	for name, e := range b.Plugins {
		if e == nil {
			return nil, false
		}
		for _, v := range e.History {
			e.plainEntry.History = append(e.plainEntry.History, (*Version)(v))
		}
		l.Plugins[name] = (*Entry)(&e.plainEntry)
	}
	return l, true
}

// split decodes text into the struct that v points to and returns the rest.
func split(text []byte, v any) (unknownKeys, error) {
	if err := json.Unmarshal(text, v); err != nil {
		return nil, err
	}
	var all unknownKeys
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	for t, i := reflect.TypeOf(v).Elem(), 0; i < t.NumField(); i++ {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		delete(all, name)
	}
	return all, nil
}

// merge encodes v together with those keys of x that v does not have.
func merge(v any, x unknownKeys) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil || len(x) == 0 {
		return text, err
	}
	all := unknownKeys{}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	for key, value := range x {
		if _, ok := all[key]; !ok {
			all[key] = value
		}
	}
	return json.Marshal(all)
}
