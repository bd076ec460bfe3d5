package memsnap

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// The best way that works is taken, and a way that only seems to work is not.
func TestFallback(t *testing.T) {
	blind := func(*os.File, []byte, []region) (int, error) { return 0, nil }
	late := func(f *os.File, b []byte, found []region) (int, error) {
		n, err := scan(f, b, found)
		return max(n-1, 0), err
	}
	all := func(_ *os.File, b []byte, found []region) (int, error) {
		found[0] = region{end: uint64(len(b))}
		return 1, nil
	}
	failing := func(*os.File, []byte, []region) (int, error) { return 0, errors.ErrUnsupported }
	hidden := func() (*os.File, error) { return nil, os.ErrPermission }
	for name, row := range map[string]struct {
		scan, pagemap way
		want          Method
	}{
		"both":              {way{Scan, openTable, scan}, way{Pagemap, openTable, read}, Scan},
		"unknown request":   {way{Scan, openTable, failing}, way{Pagemap, openTable, read}, Pagemap},
		"finds nothing":     {way{Scan, openTable, blind}, way{Pagemap, openTable, read}, Pagemap},
		"misses one":        {way{Scan, openTable, late}, way{Pagemap, openTable, read}, Pagemap},
		"takes all":         {way{Scan, openTable, all}, way{Pagemap, openTable, read}, Pagemap},
		"no table":          {way{Scan, hidden, scan}, way{Pagemap, hidden, read}, Discard},
		"neither finds any": {way{Scan, openTable, blind}, way{Pagemap, openTable, blind}, Discard},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := open(Auto, []way{row.scan, row.pagemap, {method: Discard}})
			if err != nil {
				t.Fatal(err)
			}
			if s.Method() != row.want {
				t.Errorf("it takes %s, want %s", s.Method(), row.want)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	if _, err := open(Auto, []way{{Scan, hidden, scan}}); err == nil || !strings.Contains(err.Error(), "scan: permission denied") {
		t.Errorf("no way at all: %v", err)
	}
}

// A search that fails in the middle of a memory's life costs time, not truth.
func TestFailingSearch(t *testing.T) {
	s := space(t, Scan)
	m, _ := frozen(t, s, mib, mib)
	mem := m.Reallocate(mib)
	want := mem[5000]
	mem[5000]++
	s.find = func(*os.File, []byte, []region) (int, error) { return 0, errors.ErrUnsupported }
	if _, err := m.Renew(); err != nil || mem[5000] != want {
		t.Errorf("renewed to %d, want %d: %v", mem[5000], want, err)
	}
}
