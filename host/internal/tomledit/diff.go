package tomledit

import (
	"fmt"
	"strings"
)

// mostDiffed bounds the lines that Diff compares one by one.
const mostDiffed = 2000

// Diff returns the lines in which two texts differ, as diff -U0 writes them. Empty: the
// texts are equal.
func Diff(before, after string) string {
	a, b := strings.Split(before, "\n"), strings.Split(after, "\n")
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	a, b = a[head:], b[head:]
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	var out strings.Builder
	hunk := func(i, j int, removed, added []string) {
		if len(removed)+len(added) == 0 {
			return
		}
		fmt.Fprintf(&out, "@@ -%d,%d +%d,%d @@\n", head+i+1, len(removed), head+j+1, len(added))
		for _, l := range removed {
			out.WriteString("-" + l + "\n")
		}
		for _, l := range added {
			out.WriteString("+" + l + "\n")
		}
	}
	if max(len(a), len(b)) > mostDiffed {
		hunk(0, 0, a, b)
		return out.String()
	}
	i, j := 0, 0
	for _, m := range append(common(a, b), [2]int{len(a), len(b)}) {
		hunk(i, j, a[i:m[0]], b[j:m[1]])
		i, j = m[0]+1, m[1]+1
	}
	return out.String()
}

// common returns the pairs of a longest common subsequence.
func common(a, b []string) (pairs [][2]int) {
	length := make([][]int, len(a)+1)
	for i := range length {
		length[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if length[i][j] = max(length[i+1][j], length[i][j+1]); a[i] == b[j] {
				length[i][j] = length[i+1][j+1] + 1
			}
		}
	}
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			pairs = append(pairs, [2]int{i, j})
			i, j = i+1, j+1
		case length[i+1][j] >= length[i][j+1]:
			i++
		default:
			j++
		}
	}
	return pairs
}
