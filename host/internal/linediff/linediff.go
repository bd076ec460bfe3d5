// Package linediff says in which lines two texts differ.
package linediff

import (
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// Of returns the lines in which two texts differ, as a unified diff without the names of files
// and without the lines around them. It is empty for texts that are equal but for a line break
// at their end. Texts that differ in many places may get a longer difference than they need:
// the search is bounded.
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

// maxLines is how many lines of two texts OfStrangers compares. Millions of them, of 2 bytes
// each, take seconds and a gigabyte.
const maxLines = 100_000

// OfStrangers is Of for texts that anybody may have written: it returns at most most bytes, in
// whole lines, and how many lines it left out. Of texts with more than 100,000 lines together it
// returns nothing but the number of their lines.
func OfStrangers(before, after string, most int) (lines string, left int) {
	if n := strings.Count(before, "\n") + strings.Count(after, "\n"); n > maxLines {
		return "", n
	}
	lines = Of(before, after)
	if len(lines) <= most {
		return lines, 0
	}
	shown := strings.LastIndexByte(lines[:most], '\n') + 1
	return lines[:shown], strings.Count(lines[shown:], "\n")
}
