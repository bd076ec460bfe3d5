// Package core is a sample for the map.
package core

import "errors"

/*
func Commented() {}
*/

// ErrFull says that a Store takes no more.
var ErrFull = errors.New("full")

const limit = 10

// A Store keeps Records.
type Store struct {
	records []Record
}

// Record is one thing that is kept.
type Record struct{ Name string }

// Put adds a record.
func (s *Store) Put(r Record) error {
	if len(s.records) == limit {
		return ErrFull
	}
	s.records = append(s.records, r)
	return nil
}

// Len counts.
func (s *Store) Len() int { return len(s.records) }

func trim(name string) string { return name }

type Set[T comparable] map[T]struct{}
