// Package version compares versions of the host: whether it is as new as a plugin needs.
package version

import (
	"strconv"
	"strings"
)

// Parse reads "1", "1.2", "v1.2.3" and "1.2.3-rc1", whose ending is left
// out; nil when it is none of these.
func Parse(s string) []int {
	s = strings.TrimPrefix(s, "v")
	s, _, _ = strings.Cut(s, "+")
	s, _, _ = strings.Cut(s, "-")
	parts := strings.Split(s, ".")
	if len(parts) > 3 {
		return nil
	}
	out := make([]int, 3)
	for i, p := range parts {
		n, err := strconv.Atoi(p)
		if err != nil || n < 0 {
			return nil
		}
		out[i] = n
	}
	return out
}

// Older reports whether the host is older than a plugin needs. A host
// without a readable version, such as one built from a working copy, is not.
func Older(host, need string) bool {
	h, n := Parse(host), Parse(need)
	if h == nil || n == nil {
		return false
	}
	for i := range n {
		if h[i] != n[i] {
			return h[i] < n[i]
		}
	}
	return false
}
