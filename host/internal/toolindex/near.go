package toolindex

import (
	"cmp"
	"math"
	"slices"
)

// trigrams finds words that are spelled alike.
type trigrams struct {
	words []word
	lists map[string][]int32
}

func newTrigrams(words []word) trigrams {
	t := trigrams{words, map[string][]int32{}}
	for id, w := range words {
		if !w.term || len(w.text) < 4 || !isLatin(w.text) {
			continue
		}
		for _, g := range grams(w.text) {
			t.lists[g] = append(t.lists[g], int32(id))
		}
	}
	return t
}

// grams returns the different trigrams of a word, with its beginning marked.
func grams(word string) []string {
	word = "^" + word
	var out []string
	for i := range max(len(word)-2, 0) {
		if g := word[i : i+3]; !slices.Contains(out, g) {
			out = append(out, g)
		}
	}
	return out
}

// alike returns the terms that word may be a misspelling of, most alike first, and how
// alike they are, from 0 to 1. The first letter is rarely wrong.
func (t trigrams) alike(word string, most int) []related {
	if len(word) < 6 || !isLatin(word) {
		return nil
	}
	own := grams(word)
	common := make([]uint8, len(t.words)) // how many trigrams each word has of this one
	var some []int32                      // that have two of them
	for _, g := range own[:min(len(own), math.MaxUint8)] {
		for _, id := range t.lists[g] {
			if common[id]++; common[id] == 2 {
				some = append(some, id)
			}
		}
	}
	var out []related
	for _, id := range some {
		other := t.words[id].text
		if other[0] != word[0] {
			continue
		}
		d := distance(word, other)
		if d == 1 || d == 2 && len(word) >= 8 {
			out = append(out, related{other, 1 - float64(d)/5})
		}
	}
	slices.SortFunc(out, func(a, b related) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.stem, b.stem))
	})
	return out[:min(len(out), most)]
}

// distance returns how many letters have to be changed, added, removed or swapped
// with their neighbour to make b of a; 3 means 3 or more.
func distance(a, b string) int {
	if len(a)-len(b) > 2 || len(b)-len(a) > 2 {
		return 3
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return min(last[len(b)], 3)
}
