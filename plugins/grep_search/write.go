package main

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"github.com/weirhost/weir/sdk/guest"
)

const maxLine = 300 // bytes of one line that are written

// writer writes the matches of one file as file:line:text, the lines around
// them as file-line-text, and "--" between groups that do not touch. Without
// lines around them matches are no groups.
type writer struct {
	out     *guest.List
	name    string
	data    []byte
	context int
	buf     []byte // of the line being written

	last    int // the last line written; 0: none
	lastEnd int // where that line ends in data
	owed    int // lines of context still to write after it
}

// match writes the line from start to end, at being where its match begins, as an entry
// with the lines around it. It reports false, and writes nothing, if that would be more
// than the host keeps.
func (w *writer) match(start, end, line, at int) bool {
	w.after(start)
	if most := (2*w.context + 1) * (len(w.name) + maxLine + 40); !w.out.Fits(ownBytes + most) {
		w.owed = 0
		return false
	}
	first, firstStart := w.before(start, line)
	w.out.Entry()
	if w.context > 0 && w.out.Len() > 0 && (w.last == 0 || first > w.last+1) {
		w.out.WriteString("--\n")
	}
	for pos := firstStart; first < line; first++ {
		stop := lineEnd(w.data, pos)
		w.line(first, '-', w.data[pos:stop], 0)
		pos = stop + 1
	}
	w.line(line, ':', w.data[start:end], at-start)
	w.last, w.lastEnd, w.owed = line, end, w.context
	return true
}

// before finds the first line of context in front of a match that is not
// written yet.
func (w *writer) before(start, line int) (first, firstStart int) {
	first, firstStart = line, start
	for first > max(line-w.context, w.last+1, 1) {
		firstStart = bytes.LastIndexByte(w.data[:firstStart-1], '\n') + 1
		first--
	}
	return first, firstStart
}

// after writes the context after the last match, up to position limit.
func (w *writer) after(limit int) {
	for w.owed > 0 && w.lastEnd+1 < limit {
		start := w.lastEnd + 1
		end := lineEnd(w.data, start)
		w.last++
		w.line(w.last, '-', w.data[start:end], 0)
		w.lastEnd = end
		w.owed--
	}
}

// flush writes what is owed when the file has no more matches.
func (w *writer) flush() { w.after(len(w.data)) }

// line writes one line, of a long one the part around position at.
func (w *writer) line(n int, mark byte, text []byte, at int) {
	b := append(w.buf[:0], w.name...)
	b = append(strconv.AppendInt(append(b, mark), int64(n), 10), mark, ' ')
	from, to := window(text, at)
	if from > 0 {
		b = append(b, "…"...)
	}
	b = append(b, text[from:to]...)
	if to < len(text) {
		b = append(b, "…"...)
	}
	w.buf = append(b, '\n')
	w.out.Write(w.buf)
}

// window is the part of a line that is written: all of it, or maxLine bytes
// that hold position at, cut between characters.
func window(text []byte, at int) (from, to int) {
	if len(text) <= maxLine {
		return 0, len(text)
	}
	from = min(max(at-maxLine/3, 0), len(text)-maxLine)
	to = from + maxLine
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	return from, to
}
