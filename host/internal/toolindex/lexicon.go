package toolindex

import "strings"

// A word is a word as it is written, or a term: the stem of one, in which form words are
// compared.
type word struct {
	text  string
	id    int32 // the place of its term; negative: it is only a term so far
	nth   int32 // the number of the tool that had the term last, while tools are read
	count int32 // the place of the term's count in that tool
	tools int32 // how many tools have the term, or nearly
	term  bool
	stop  bool
	plain bool // a description has it
}

// A lexicon holds words by their text.
type lexicon struct {
	words []word
	at    map[string]int32 // the places of texts in words
}

func newLexicon(words int) lexicon { return lexicon{at: make(map[string]int32, words)} }

// find returns the place of a word or a term.
func (l *lexicon) find(text string) (int32, bool) {
	place, ok := l.at[text]
	return place, ok
}

// place returns the place of a word or a term, which it adds if it is new. part says that
// the text is a part of a longer one, which the lexicon does not keep.
func (l *lexicon) place(text string, part bool) int32 {
	if place, ok := l.at[text]; ok {
		return place
	}
	if part {
		text = strings.Clone(text)
	}
	place := int32(len(l.words))
	l.words = append(l.words, word{text: text, id: -1})
	l.at[text] = place
	return place
}
