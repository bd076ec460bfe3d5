package find

import "strings"

// A Scanner finds many literals in a text. Those at the beginning of a line it looks
// for only there. Of each of the others it knows a window of five bytes. It looks at
// every third position of the text: three bytes there are inside each window once, so
// its time does not grow with the number of literals. It is safe for concurrent use.
type Scanner struct {
	first [256][]scanned // by their first byte
	other []scanned
	// known has a bit for the hash of each three bytes of a window, and inside has the
	// windows of those, by the end of their hash.
	known  [1 << hashBits / 64]uint64
	inside [buckets][]triple
}

// A triple is three bytes of a literal's window.
type triple struct {
	hash    uint32
	literal int32
	off     int // in the literal
}

// A scanned literal is found by its rarest window of bytes, at offset off.
type scanned struct {
	text       string
	off, owner int
}

// window is how many bytes of a literal are looked for. A literal that is not the
// first on its line must have as many. Every third three bytes of a text are in a window.
const (
	window, stride = 5, 3
	hashBits       = 15
	buckets        = 1 << 10
)

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
	for i, l := range s.other {
		for off := l.off; off < l.off+window-stride+1; off++ {
			h := hash(l.text[off], l.text[off+1], l.text[off+2])
			s.known[h/64] |= 1 << (h % 64)
			s.inside[h%buckets] = append(s.inside[h%buckets], triple{h, int32(i), off})
		}
	}
}

// hash returns hashBits bits for three bytes.
func hash(a, b, c byte) uint32 {
	return (uint32(a) | uint32(b)<<8 | uint32(c)<<16) * 0x9E3779B1 >> (32 - hashBits)
}

// First calls found for each literal at the beginning of a line, at offset at after
// blanks. A literal for which own is true may also come after skip, if there are
// only blanks before skip.
func (s *Scanner) First(text, skip string, found func(start, owner int)) {
	var skipped [256]bool
	for i := range len(skip) {
		skipped[skip[i]] = true
	}
	for start := 0; start < len(text); {
		at := start
		for at < len(text) && (text[at] == ' ' || text[at] == '\t') {
			at++
		}
		s.firstAt(text, start, at, false, found)
		if at < len(text) && skipped[text[at]] {
			for at++; at < len(text) && skipped[text[at]]; at++ {
			}
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
		l := &s.first[text[at]][i]
		if len(l.text) > 1 && at+1 < len(text) && l.text[1] != text[at+1] {
			continue // most literals, without a call
		}
		if (!skipped || l.owner < 0) && strings.HasPrefix(text[at:], l.text) {
			found(start, l.owner)
		}
	}
}

// Others calls found for the other literals, at offset at, line by line. The search
// goes on at the offset that found returns, or at once if that is lower.
func (s *Scanner) Others(text string, found func(at, owner int) int) {
	for i := 0; i+stride <= len(text); i += stride {
		h := hash(text[i], text[i+1], text[i+2])
		if s.known[h/64]>>(h%64)&1 == 0 {
			continue
		}
		next := 0
		for _, k := range s.inside[h%buckets] {
			l := &s.other[k.literal]
			if at := i - k.off; k.hash == h && at >= 0 && strings.HasPrefix(text[at:], l.text) {
				next = max(next, found(at, l.owner))
			}
		}
		i = max(i, next-stride)
	}
}
