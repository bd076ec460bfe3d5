package text

import (
	"cmp"
	"slices"
	"strings"
)

// Nearest returns up to three of names whose spelling is closest to name, the best
// first; none if no name is close.
func Nearest(name string, names []string) []string {
	type scored struct {
		name string
		dist int
	}
	low := strings.ToLower(name[:min(len(name), 128)])
	var found []scored
	for _, n := range names {
		small := strings.ToLower(n)
		d := distance(low, small)
		if min(len(low), len(n)) > 2 && (strings.Contains(small, low) || strings.Contains(low, small)) {
			d = min(d, 2)
		}
		if d <= max(1, len(low)/3) || d == 2 && len(low) > 2 {
			found = append(found, scored{n, d})
		}
	}
	slices.SortFunc(found, func(a, b scored) int {
		return cmp.Or(cmp.Compare(a.dist, b.dist), cmp.Compare(a.name, b.name))
	})
	var out []string
	for _, f := range found[:min(3, len(found))] {
		out = append(out, f.name)
	}
	return out
}

// distance counts the insertions, deletions and substitutions of bytes between
// a and b. Names are short; longer ones are compared by their first 128 bytes.
func distance(a, b string) int {
	a, b = a[:min(len(a), 128)], b[:min(len(b), 128)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		prev := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := prev
			if a[i] != b[j] {
				cost++
			}
			prev = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
