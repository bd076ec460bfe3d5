// Package memory keeps what a search by meaning needs: vectors of archived results, and
// summaries by a model. It works in the background, on one result after the other; a
// result that finds the queue full gets neither, and is found by words.
package memory
