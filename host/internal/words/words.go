// Package words is going away: use package msg, which needs no search in rendered text.
//
// It holds in Chinese what people read in English elsewhere: help,
// reports, and what is wrong. Much of it is made far from where it is known who
// reads it, so it is looked up where it is printed, by its English text. A text
// with places to fill in (%s, %d and the like) is also found where it is filled
// in already.
package words

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/weirhost/weir/host/internal/msg"
)

// A Book turns English texts into Chinese ones. It is safe for concurrent use.
type Book struct {
	texts map[string]string
	// shapes are the texts with places, those with the most letters first.
	shapes []*shape
}

// A shape is a text with places to fill in.
type shape struct {
	key, text string
	longest   string // piece between two places, which is looked for first
	letters   int
	match     func() *regexp.Regexp
}

// Open reads the book.
func Open() (*Book, error) {
	b := &Book{texts: map[string]string{}}
	all, err := msg.Chinese()
	if err != nil {
		return nil, err
	}
	for key, text := range all {
		b.texts[key] = text
		if s := newShape(key, text); s != nil {
			b.shapes = append(b.shapes, s)
		}
	}
	slices.SortFunc(b.shapes, func(x, y *shape) int {
		if x.letters != y.letters {
			return y.letters - x.letters
		}
		return strings.Compare(x.key, y.key)
	})
	return b, nil
}

// depth bounds how far texts in the places of others are looked up.
const depth = 3

// Text returns the Chinese text, or the English one where there is none. White
// space around it stays.
func (b *Book) Text(en string) string { return b.text(en, depth) }

func (b *Book) text(en string, deep int) string {
	core := strings.TrimSpace(en)
	if zh, ok := b.texts[core]; ok {
		return around(en, core, zh)
	}
	if deep == 0 || !strings.Contains(core, " ") {
		return en
	}
	for _, s := range b.shapes {
		if !strings.Contains(core, s.longest) || strings.Contains(core, "\n") && !strings.Contains(s.key, "\n") {
			continue
		}
		if m := s.match().FindStringSubmatch(core); m != nil {
			return around(en, core, s.fill(m[1:], func(piece string) string { return b.text(piece, deep-1) }))
		}
	}
	return en
}

// Format returns the Chinese format for fmt, or the English one where there is
// none.
func (b *Book) Format(en string) string {
	core := strings.TrimSpace(en)
	if zh, ok := b.texts[core]; ok {
		return around(en, core, zh)
	}
	return en
}

// around puts text into the white space that core has in whole.
func around(whole, core, text string) string {
	before, after, _ := strings.Cut(whole, core)
	return before + text + after
}

// verb is one place of a format.
const verb = `%(?:\[(\d+)\])?[-+# 0]*\d*(?:\.\d+)?([a-zA-Z])`

// leastLetters is how many letters a shape needs beside its arguments: with fewer it
// would match other sentences. An argument that is a number or quoted matches little,
// and counts as two letters.
const leastLetters = 4

func newShape(key, text string) *shape {
	places := regexp.MustCompile(verb).FindAllStringSubmatchIndex(key, -1)
	if len(places) == 0 {
		return nil
	}
	s := &shape{key: key, text: text}
	var pattern strings.Builder
	pattern.WriteString(`(?s)^`)
	from, narrow := 0, 0
	piece := func(p string) {
		p = strings.ReplaceAll(p, "%%", "%")
		if len(p) > len(s.longest) {
			s.longest = p
		}
		s.letters += len(regexp.MustCompile(`[A-Za-z]`).FindAllString(p, -1))
		pattern.WriteString(regexp.QuoteMeta(p))
	}
	for _, at := range places {
		piece(key[from:at[0]])
		switch key[at[4]:at[5]] {
		case "d":
			narrow += 2
			pattern.WriteString(` *(-?[\d,]+)`)
		case "q":
			narrow += 2
			pattern.WriteString(`("(?:[^"\\]|\\.)*")`)
		case "g", "f":
			narrow += 2
			pattern.WriteString(`(-?[\d.e+-]+)`)
		default:
			pattern.WriteString(`(.*?)`)
		}
		from = at[1]
	}
	piece(key[from:])
	if s.letters == 0 || s.letters+narrow < leastLetters {
		return nil
	}
	pattern.WriteString(`$`)
	s.match = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern.String()) })
	return s
}

// fill puts the pieces into the text's places.
func (s *shape) fill(pieces []string, text func(string) string) string {
	next := 0
	out := regexp.MustCompile(verb).ReplaceAllStringFunc(s.text, func(place string) string {
		if m := regexp.MustCompile(verb).FindStringSubmatch(place); m[1] != "" {
			fmt.Sscan(m[1], &next)
			next--
		}
		next++
		if next < 1 || next > len(pieces) {
			return place
		}
		return text(strings.TrimRight(pieces[next-1], " "))
	})
	return strings.ReplaceAll(out, "%%", "%")
}
