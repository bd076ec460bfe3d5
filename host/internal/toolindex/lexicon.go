package toolindex

import (
	"hash/maphash"
	"strings"
)

// A word is a word as it is written, or a term: the stem of one, in which form words are
// compared.
type word struct {
	text   string
	id     int32 // the place of its term; negative: it is only a term so far
	reader int32 // the number of the tool that had the term last, while tools are read
	count  int32 // the place of the term's count in that tool
	tools  int32 // how many tools have the term, or nearly
	term   bool
	stop   bool
	plain  bool // a description has it
}

// A lexicon holds words by their text. Reading tools is mostly looking words up, and a
// table of places takes half the time of a map.
type lexicon struct {
	words []word
	slots []slot // as many as a power of two; at most half of them are taken
	seed  maphash.Seed
}

// A slot is taken if its place is not 0. The place counts from 1.
type slot struct{ hash, place uint32 }

func newLexicon(words int) lexicon {
	size := 16
	for size < 2*words {
		size *= 2
	}
	return lexicon{slots: make([]slot, size), seed: maphash.MakeSeed()}
}

// look returns the place of a text; negative: it is not there, and would take the slot.
func (l *lexicon) look(text string) (place int32, at, hash uint32) {
	hash = uint32(maphash.String(l.seed, text))
	mask := uint32(len(l.slots) - 1)
	for at = hash & mask; l.slots[at].place != 0; at = (at + 1) & mask {
		if s := l.slots[at]; s.hash == hash && l.words[s.place-1].text == text {
			return int32(s.place - 1), at, hash
		}
	}
	return -1, at, hash
}

// find returns the place of a word or a term.
func (l *lexicon) find(text string) (int32, bool) {
	place, _, _ := l.look(text)
	return place, place >= 0
}

// place returns the place of a word or a term, which it adds if it is new. part says that
// the text is a part of a longer one, which the lexicon does not keep.
func (l *lexicon) place(text string, part bool) int32 {
	place, at, hash := l.look(text)
	if place >= 0 {
		return place
	}
	if part {
		text = strings.Clone(text)
	}
	l.words = append(l.words, word{text: text, id: -1})
	l.slots[at] = slot{hash, uint32(len(l.words))}
	if 2*len(l.words) > len(l.slots) {
		l.grow()
	}
	return int32(len(l.words) - 1)
}

func (l *lexicon) grow() {
	old := l.slots
	l.slots = make([]slot, 2*len(old))
	mask := uint32(len(l.slots) - 1)
	for _, s := range old {
		if s.place == 0 {
			continue
		}
		at := s.hash & mask
		for l.slots[at].place != 0 {
			at = (at + 1) & mask
		}
		l.slots[at] = s
	}
}
