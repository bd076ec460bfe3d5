package memsnap

import (
	"errors"
	"os"
	"testing"
)

// A search that only seems to work is not used.
func TestOpenRefuses(t *testing.T) {
	hidden := func() (*os.File, error) { return nil, os.ErrPermission }
	for name, row := range map[string]struct {
		table func() (*os.File, error)
		find  finder
	}{
		"no table":      {hidden, find},
		"fails":         {openTable, func(*os.File, []byte, []region) (int, error) { return 0, errors.ErrUnsupported }},
		"finds nothing": {openTable, func(*os.File, []byte, []region) (int, error) { return 0, nil }},
		"misses one": {openTable, func(f *os.File, b []byte, found []region) (int, error) {
			n, err := find(f, b, found)
			return max(n-1, 0), err
		}},
		"takes all": {openTable, func(_ *os.File, b []byte, found []region) (int, error) {
			found[0] = region{end: uint64(len(b))}
			return 1, nil
		}},
	} {
		if _, err := open(row.table, row.find); err == nil {
			t.Errorf("%s: it is used", name)
		}
	}
}

// A search that fails in the middle of a memory's life costs time, not truth.
func TestFailingSearch(t *testing.T) {
	s := space(t)
	m, _ := frozen(t, s, mib, mib)
	mem := m.Reallocate(mib)
	want := mem[5000]
	mem[5000]++
	s.find = func(*os.File, []byte, []region) (int, error) { return 0, errors.ErrUnsupported }
	if _, err := m.Renew(); err != nil || mem[5000] != want {
		t.Errorf("renewed to %d, want %d: %v", mem[5000], want, err)
	}
}
