package main

import (
	"slices"
	"strings"
	"testing"
)

func TestProgressOfWriting(t *testing.T) {
	var b strings.Builder
	var told []int
	w := &progressWriter{w: &b, every: 10, tell: func(n int) { told = append(told, n) }}
	for _, s := range []string{"12345", "678", "90", strings.Repeat("x", 25), "y"} {
		if n, err := w.Write([]byte(s)); n != len(s) || err != nil {
			t.Fatal(n, err)
		}
	}
	if !slices.Equal(told, []int{10, 35}) || b.Len() != 36 {
		t.Errorf("told %v of %d bytes", told, b.Len())
	}
}
