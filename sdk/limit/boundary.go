package limit

import (
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// maxCluster is the longest grapheme cluster, in code points, that a cut keeps
// together. Longer ones are stacked marks made to break layouts.
const maxCluster = 64

// clusterAt returns the grapheme cluster of s around byte offset i. The offset
// must lie between two code points. If i is a boundary, or the cluster is longer
// than maxCluster, start and end are i.
func clusterAt(s string, i int) (start, end int) {
	if i <= 0 || i >= len(s) || certain(s, i) {
		return i, i
	}
	pos := anchor(s, i)
	// A cluster that ends later is longer than maxCluster.
	it := graphemes.FromString(s[pos:min(len(s), i+utf8.UTFMax*(maxCluster+1))])
	for it.Next() {
		start, end = pos+it.Start(), pos+it.End()
		if start == i || end > i && runes(s[start:end]) > maxCluster {
			return i, i
		}
		if end > i {
			return start, end
		}
	}
	return i, i
}

// anchor returns an offset before i from which cluster boundaries can be found:
// a certain boundary, or an offset so far back that every cluster of maxCluster
// code points that contains i starts after it. In a run of regional indicators
// it returns the start of the run, because flags are pairs.
func anchor(s string, i int) int {
	n := 0
	for n < 3*maxCluster && i > 0 && !certain(s, i) {
		i -= stepBack(s, i)
		n++
	}
	for i > 0 && isRegional(s[i:]) {
		i -= stepBack(s, i)
	}
	return i
}

// isRegional reports whether s starts with a regional indicator, U+1F1E6 to U+1F1FF.
func isRegional(s string) bool {
	return len(s) >= 4 && s[:3] == "\U0001F1E6"[:3] && s[3] >= 0xA6 && s[3] <= 0xBF
}

// certain reports whether i is a cluster boundary for sure. It compares only the
// two code points next to i, and so misses some boundaries.
func certain(s string, i int) bool {
	if i == 0 || i == len(s) {
		return true
	}
	l, r := s[i-1], s[i]
	if l < utf8.RuneSelf && r < utf8.RuneSelf {
		return l != '\r' || r != '\n'
	}
	if l == '\n' || r == '\n' {
		return true
	}
	left, _ := utf8.DecodeLastRuneInString(s[:i])
	right, _ := utf8.DecodeRuneInString(s[i:])
	return plain(left) && plain(right)
}

// plain reports whether r never joins with another plain character:
// printable ASCII, CJK ideographs, kana without marks, CJK punctuation.
func plain(r rune) bool {
	switch {
	case r >= 0x20 && r < 0x7f,
		r >= 0x4e00 && r <= 0x9fff, r >= 0x3400 && r <= 0x4dbf,
		r >= 0x3041 && r <= 0x3096, r >= 0x30a1 && r <= 0x30fa,
		r >= 0x3001 && r <= 0x3002, r >= 0xff01 && r <= 0xff5e:
		return true
	}
	return false
}

// settleHead moves the end of a head, at byte i, back to a natural break: after
// the last newline in s[low:i], else after the last sentence, else to a
// boundary between grapheme clusters.
func settleHead(s string, low, i int) int {
	if i >= len(s) {
		return len(s)
	}
	if j := strings.LastIndexByte(s[low:i], '\n'); j >= 0 {
		return low + j + 1
	}
	for j := i; j > low; j -= stepBack(s, j) {
		if sentenceEnd(s, j) {
			return j
		}
	}
	start, _ := clusterAt(s, i)
	return start
}

// settleTail moves the start of a tail, at byte i, forward to a natural break:
// after the first newline in s[i-1:high], else after the first sentence, else to
// a boundary between grapheme clusters.
func settleTail(s string, i, high int) int {
	if i <= 0 || s[i-1] == '\n' {
		return max(i, 0)
	}
	if j := strings.IndexByte(s[i:high], '\n'); j >= 0 && i+j+1 < len(s) {
		return i + j + 1
	}
	for j := i; j < high; j += step(s, j) {
		if sentenceEnd(s, j) {
			return j + len(s[j:]) - len(strings.TrimLeft(s[j:], " "))
		}
	}
	_, end := clusterAt(s, i)
	return end
}

// sentenceEnd reports whether a sentence ends at byte i: after 。！？, or
// after .!? and before white space. A closing quote or bracket may come between.
func sentenceEnd(s string, i int) bool {
	if i <= 0 || i >= len(s) {
		return false
	}
	spaced := s[i] == ' ' || s[i] == '\n' || s[i] == '\t'
	r, size := utf8.DecodeLastRuneInString(s[:i])
	if strings.ContainsRune(closers, r) {
		r, _ = utf8.DecodeLastRuneInString(s[:i-size])
	} else if next, _ := utf8.DecodeRuneInString(s[i:]); strings.ContainsRune(closers, next) {
		return false
	}
	switch r {
	case '。', '！', '？':
		start, _ := clusterAt(s, i)
		return start == i
	case '.', '!', '?':
		return spaced
	}
	return false
}

// closers are the marks that close a sentence together with its full stop.
const closers = "”’」』）》】\")]'"
