package toolindex

import (
	_ "embed"
	"strings"
	"sync"
)

// synonymText has a line for each group of words that mean nearly the same where
// tools are described. It is general knowledge of the trade and of everyday subjects.
//
//go:embed synonyms.txt
var synonymText string

// How much words of one subject, and the kind for a case of it, count beside synonyms.
const subjectWeight, kindWeight = 0.6, 0.9

// A related is a stem that can be meant by another, and how much it counts, 0 to 1.
type related struct {
	stem   string
	weight float64
}

// synonymTable returns the table of all indexes; no caller changes it.
var synonymTable = sync.OnceValue(func() map[string][]related { return synonyms() })

// synonyms returns the stems that are related to each stem. A line is a group of words
// that mean nearly the same; one that begins with "~" holds words of one subject, which
// count less; in "a b < c d", c and d are kinds or cases of a and b, not the other way.
func synonyms() map[string][]related {
	out := map[string][]related{}
	stems := func(words string) (list []string) {
		for _, w := range strings.Fields(words) {
			list = append(list, stem(w))
		}
		return list
	}
	for line := range strings.Lines(synonymText) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		weight := 1.0
		if rest, ok := strings.CutPrefix(line, "~"); ok {
			line, weight = rest, subjectWeight
		}
		to, from, kinds := strings.Cut(line, "<")
		if !kinds {
			from = to
		} else {
			weight = kindWeight
		}
		meant := stems(to)
		for _, a := range stems(from) {
			for _, b := range meant {
				if a != b {
					out[a] = append(out[a], related{b, weight})
				}
			}
		}
	}
	return out
}
