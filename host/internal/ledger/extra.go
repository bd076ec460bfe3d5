package ledger

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
)

// extra are the keys of an object that this version does not know. They are
// written back, so that an older weir takes nothing from a newer one's file.
type extra map[string]json.RawMessage

// The types without their methods, so that they encode as plain objects.
type (
	plainLock    Lock
	plainEntry   Entry
	plainVersion Version
)

// UnmarshalJSON keeps the keys it does not know.
func (l *Lock) UnmarshalJSON(text []byte) (err error) {
	l.extra, err = split(text, (*plainLock)(l))
	return err
}

// MarshalJSON writes the keys that it did not know back.
func (l *Lock) MarshalJSON() ([]byte, error) { return merge((*plainLock)(l), l.extra) }

// UnmarshalJSON keeps the keys it does not know.
func (e *Entry) UnmarshalJSON(text []byte) (err error) {
	e.extra, err = split(text, (*plainEntry)(e))
	return err
}

// MarshalJSON writes the keys that it did not know back.
func (e *Entry) MarshalJSON() ([]byte, error) { return merge((*plainEntry)(e), e.extra) }

// UnmarshalJSON keeps the keys it does not know.
func (v *Version) UnmarshalJSON(text []byte) (err error) {
	v.extra, err = split(text, (*plainVersion)(v))
	return err
}

// MarshalJSON writes the keys that it did not know back.
func (v *Version) MarshalJSON() ([]byte, error) { return merge((*plainVersion)(v), v.extra) }

// The types once more, down to the last without methods.
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

// plain decodes a lock in which every key is known, in one pass; false: it is
// another, or no lock. A lock of a thousand plugins is read at each start.
func plain(text []byte) (*Lock, bool) {
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
func split(text []byte, v any) (extra, error) {
	if err := json.Unmarshal(text, v); err != nil {
		return nil, err
	}
	var all extra
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	for t, i := reflect.TypeOf(v).Elem(), 0; i < t.NumField(); i++ {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		delete(all, name)
	}
	return all, nil
}

// merge encodes v with the keys of x that it has not.
func merge(v any, x extra) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil || len(x) == 0 {
		return text, err
	}
	all := extra{}
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
