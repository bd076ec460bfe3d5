package core

import "testing"

func TestPut(t *testing.T) {
	var s Store
	if err := s.Put(Record{}); err != nil {
		t.Fatal(err)
	}
}
