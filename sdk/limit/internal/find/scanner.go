package find

import "strings"

// A Scanner finds many literals in a text. Those at the beginning of a line it looks
// for only there. For the others it skips what cannot be the end of one (Wu and
// Manber's algorithm), so its time grows little with their number. It is safe for
// concurrent use.
type Scanner struct {
	first [256][]scanned // by their first byte
	other []scanned
	// step is how far a search may go on from two bytes, by their hash; 0: a
	// literal of bucket may have its window here.
	step   [buckets]uint8
	bucket [buckets][]int32
}

// A scanned literal is found by its rarest window of bytes, at offset off.
type scanned struct {
	text       string
	off, owner int
}

// window is how many bytes of a literal are looked for. A literal that is not the
// first on its line must have as many.
const window, buckets = 5, 1 << 12

// Add adds the literals of which every match of expr contains one, for which a
// search reports owner. It reports false if no such literals of five bytes, or at
// the beginning of a line, are known, in exact case.
func (s *Scanner) Add(expr string, owner int) bool {
	lits := atMost(maxExact).required(expr)
	for _, n := range lits {
		switch {
		case n.fold || len(n.lit) < window && !n.first:
			return false
		case n.first:
			s.AddFirst(n.lit, owner)
		default:
			s.other = append(s.other, scanned{n.lit, rarest(n.lit), owner})
		}
	}
	return lits != nil
}

// AddFirst adds a literal that First reports at the beginning of a line.
func (s *Scanner) AddFirst(lit string, owner int) {
	s.first[lit[0]] = append(s.first[lit[0]], scanned{text: lit, owner: owner})
}

// rarest returns the offset of the window with the rarest bytes.
func rarest(lit string) (best int) {
	most := -1
	for off := 0; off+window <= len(lit); off++ {
		n := 0
		for i := range window {
			switch r := rarity(lit[off+i]); {
			case r >= 0:
				n += r
			case lit[off+i] < '0' && lit[off+i] != ' ':
				n += 15
			}
		}
		if n > most {
			best, most = off, n
		}
	}
	return best
}

// Ready prepares s after the last Add.
func (s *Scanner) Ready() {
	for i := range s.step {
		s.step[i] = window - 1
	}
	for i, l := range s.other {
		w := l.text[l.off : l.off+window]
		for j := 1; j < window; j++ {
			h := hash(w[j-1], w[j])
			s.step[h] = min(s.step[h], uint8(window-1-j))
		}
		h := hash(w[window-2], w[window-1])
		s.bucket[h] = append(s.bucket[h], int32(i))
	}
}

func hash(a, b byte) uint { return (uint(a)<<5 ^ uint(b)) % buckets }

// First calls found for each literal at the beginning of a line, at offset at after
// blanks. A literal for which own is true may also come after skip, if there are
// only blanks before skip.
func (s *Scanner) First(text, skip string, found func(start, owner int)) {
	for start := 0; start < len(text); {
		at := start
		for at < len(text) && (text[at] == ' ' || text[at] == '\t') {
			at++
		}
		s.firstAt(text, start, at, false, found)
		if at < len(text) && strings.IndexByte(skip, text[at]) >= 0 {
			at = len(text) - len(strings.TrimLeft(text[at:], skip))
			s.firstAt(text, start, at, true, found)
		}
		i := strings.IndexByte(text[start:], '\n')
		if i < 0 {
			return
		}
		start += i + 1
	}
}

// firstAt calls found for the literals at offset at; if skipped, for those with a
// negative owner.
func (s *Scanner) firstAt(text string, start, at int, skipped bool, found func(start, owner int)) {
	if at == len(text) {
		return
	}
	for i := range s.first[text[at]] {
		if l := &s.first[text[at]][i]; (!skipped || l.owner < 0) && strings.HasPrefix(text[at:], l.text) {
			found(start, l.owner)
		}
	}
}

// Others calls found for the other literals, at offset at, in order. The search
// goes on at the offset that found returns, or at once if that is lower.
func (s *Scanner) Others(text string, found func(at, owner int) int) {
	for i := window - 1; i < len(text); {
		h := hash(text[i-1], text[i])
		if n := s.step[h]; n > 0 {
			i += int(n)
			continue
		}
		next := 0
		for _, k := range s.bucket[h] {
			l := &s.other[k]
			if at := i - window + 1 - l.off; at >= 0 && strings.HasPrefix(text[at:], l.text) {
				next = max(next, found(at, l.owner))
			}
		}
		i = max(i+1, next+window-1)
	}
}
