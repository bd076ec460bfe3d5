// Package linediff says in which lines two texts differ.
package linediff

import (
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// Of returns the lines in which two texts differ, as a unified diff without the names of files
// and without the lines around them. It is empty for texts that are equal but for a line break at their end. Texts that
// differ in many places may get a longer difference than they need: the search is bounded.
func Of(before, after string) string {
	before, after = ended(before), ended(after)
	text, err := udiff.ToUnified("", "", before, udiff.Lines(before, after), 0)
	if err != nil {
		return "" // not possible: the edits are those of the text
	}
	for range 2 { // the names
		_, text, _ = strings.Cut(text, "\n")
	}
	return text
}

func ended(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}
