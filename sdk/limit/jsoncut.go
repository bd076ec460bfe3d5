package limit

import (
	"encoding/json"
	"strings"

	"github.com/weirhost/weir/sdk/tool"
)

// The json strategy returns a smaller valid JSON text. It omits white space, the
// ends of long strings and arrays, and the last keys of objects if they do not
// all fit. A count replaces each omitted part, without words, because a view has
// no language yet:
//
//	"a long str…+4211"      4,211 more characters
//	[1,2,3,"…+997"]         997 more items
//	{"id":7,"…":"+12"}      12 more keys
//
// The values of one parent share its room: small ones stay whole, large ones
// shrink equally. Numbers keep their spelling, keys their order.

// runJSON selects a JSON text within b. It reports false if the whole is not
// JSON, or if not even the smallest form of its outermost value fits.
func (c *cutter) runJSON(b budget) bool {
	if b.lines < 1 || !json.Valid([]byte(c.whole)) {
		return false
	}
	t := parseTree(c.whole, b.chars)
	if t.least(0) > b.chars {
		return false
	}
	c.charBound = t.nodes[0].size > b.chars
	t.write(0, b.chars)
	c.json = t.out.String()
	return true
}

// jsonGap returns the gap after the text. First and Last are zero, because the
// missing part is not a range of lines. The counts are relative to the whole.
func (c *cutter) jsonGap() tool.Gap {
	chars, lines := Count(c.json)
	return tool.Gap{At: len(c.json), Chars: c.chars - chars, Lines: max(c.lines-lines, 0)}
}

// least returns the fewest characters that can represent value i.
func (t *tree) least(i int) int {
	n := t.nodes[i]
	switch n.kind {
	case '[':
		return min(n.size, 6+digits(n.count))
	case '{':
		return min(n.size, 9+digits(n.count))
	}
	return min(n.size, 4+digits(n.size))
}

// write writes value i in at most room characters and returns how many it used.
// room must not be under least(i).
func (t *tree) write(i, room int) int {
	n := t.nodes[i]
	if n.size <= room {
		compact(&t.out, t.src[n.start:n.end])
		t.chars += n.size
		return n.size
	}
	before := t.chars
	switch n.kind {
	case '[', '{':
		t.container(i, room)
	case '"':
		t.put(cutString(t.src[n.start:n.end], room))
	default:
		t.put(`"…+` + itoa(n.size) + `"`)
	}
	return t.chars - before
}

// container writes as many values of array or object i as fit, each in its share
// of room, and the count of the others.
func (t *tree) container(i, room int) {
	n := t.nodes[i]
	kids, mark := t.choose(i, room)
	open, end := "[", "]"
	if n.kind == '{' {
		open, end = "{", "}"
	}
	left := room - 2 - mark - t.fixed(kids)
	level := t.level(kids, left)
	t.put(open)
	spare := left
	for _, k := range kids {
		spare -= t.clamped(k, level)
	}
	for j, k := range kids {
		if j > 0 {
			t.put(",")
		}
		if kid := t.nodes[k]; n.kind == '{' {
			t.put(t.src[kid.key:kid.keyEnd] + ":")
		}
		give := t.clamped(k, level) + spare
		spare = give - t.write(k, give)
	}
	if rest := n.count - len(kids); rest > 0 {
		t.put(elision(n.kind, rest, len(kids) > 0))
	}
	t.put(end)
}

// choose returns the children of i to show in room characters, and the size of
// the count of the others. An array shows each item in at least an eighth of the
// room; an object shows as many keys as possible.
func (t *tree) choose(i, room int) (kids []int, mark int) {
	n := t.nodes[i]
	mark = runes(elision(n.kind, n.count, true))
	used := 2 + mark
	for k := i + 1; k < n.next; k = t.nodes[k].next {
		ask := t.least(k)
		if n.kind == '[' {
			ask = min(t.nodes[k].size, max(ask, room/8, leafSize))
		}
		ask += t.fixed([]int{k})
		if used+ask > room {
			break
		}
		used += ask
		kids = append(kids, k)
	}
	if len(kids) == n.count {
		mark = 0
	}
	return kids, mark
}

// fixed returns the size of the keys, colons and commas around the values.
func (t *tree) fixed(kids []int) (chars int) {
	for _, k := range kids {
		chars++
		if n := t.nodes[k]; n.keyEnd > 0 {
			chars += runes(t.src[n.key:n.keyEnd]) + 1
		}
	}
	return chars
}

// level returns the highest share per value with which all fit left characters.
func (t *tree) level(kids []int, left int) int {
	low, high := 0, left
	for low < high {
		mid := (low + high + 1) / 2
		sum := 0
		for _, k := range kids {
			sum += t.clamped(k, mid)
		}
		if sum <= left {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return low
}

// clamped returns the room of value k for a share: at most its size, at least
// its smallest form.
func (t *tree) clamped(k, share int) int {
	return min(max(share, t.least(k)), t.nodes[k].size)
}

// elision returns the mark for n omitted children, after a comma if more.
func elision(kind byte, n int, more bool) string {
	comma := ""
	if more {
		comma = ","
	}
	if kind == '{' {
		return comma + `"…":"+` + itoa(n) + `"`
	}
	return comma + `"…+` + itoa(n) + `"`
}

func (t *tree) put(s string) {
	t.out.WriteString(s)
	t.chars += runes(s)
}

// compact writes valid JSON without the white space between its tokens.
func compact(out *strings.Builder, src string) {
	start, quoted := 0, false
	for i := 0; i < len(src); i++ {
		switch c := src[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && c <= ' ':
			out.WriteString(src[start:i])
			start = i + 1
		}
	}
	out.WriteString(src[start:])
}
