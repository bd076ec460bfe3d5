package limit

import (
	"strconv"
	"strings"
)

// A node is one value of a JSON text. The nodes of its children follow it, up
// to next. Children that cannot be shown have no node.
type node struct {
	start, end  int // bytes of the value
	key, keyEnd int // bytes of its key with quotes; keyEnd 0: none
	size        int // characters without white space
	count       int // children
	next        int // the node after all children
	kind        byte
}

// A tree is a JSON text and those of its values that a cut to room can show.
type tree struct {
	src   string
	nodes []node
	pos   int
	most  int // most children of one value with a node
	out   strings.Builder
	chars int // in out
}

// leafSize is the size, in characters, up to which a value is shown whole. Its
// children need no nodes.
const leafSize = 40

// parseTree parses src, which must be valid JSON. A shown child needs at least
// two characters, so children after the first room/2 are only counted.
func parseTree(src string, room int) *tree {
	t := &tree{src: src, most: min(room, len(src))/2 + 1}
	t.space()
	t.value()
	return t
}

func (t *tree) space() {
	for t.pos < len(t.src) && t.src[t.pos] <= ' ' {
		t.pos++
	}
}

// value reads one value and returns its size.
func (t *tree) value() int {
	i := len(t.nodes)
	t.nodes = append(t.nodes, node{start: t.pos, kind: t.src[t.pos]})
	size, count := 0, 0
	switch t.src[t.pos] {
	case '[', '{':
		size, count = t.children(t.src[t.pos] == '{')
		if size <= leafSize {
			t.nodes = t.nodes[:i+1]
		}
	case '"':
		size = t.quoted()
	default:
		start := t.pos
		for t.pos < len(t.src) && !strings.ContainsRune(",]} \t\r\n", rune(t.src[t.pos])) {
			t.pos++
		}
		size = t.pos - start
	}
	n := &t.nodes[i]
	n.end, n.size, n.count, n.next = t.pos, size, count, len(t.nodes)
	return size
}

// children reads an array or an object from its opening to its closing bracket.
func (t *tree) children(object bool) (size, count int) {
	size = 2
	for t.pos++; ; {
		t.space()
		if c := t.src[t.pos]; c == ']' || c == '}' {
			t.pos++
			return size, count
		} else if c == ',' {
			t.pos++
			size++
			continue
		}
		i, key, keyEnd := len(t.nodes), 0, 0
		if object {
			key = t.pos
			size += t.quoted() + 1
			keyEnd = t.pos
			t.space()
			t.pos++ // the colon
			t.space()
		}
		size += t.value()
		count++
		if count > t.most {
			t.nodes = t.nodes[:i]
		} else {
			t.nodes[i].key, t.nodes[i].keyEnd = key, keyEnd
		}
	}
}

// quoted reads a string and returns its size with quotes.
func (t *tree) quoted() int {
	start := t.pos
	for t.pos++; t.src[t.pos] != '"'; t.pos++ {
		if t.src[t.pos] == '\\' {
			t.pos++
		}
	}
	t.pos++
	return runes(t.src[start:t.pos])
}

// cutString shortens a JSON string to room characters: its beginning, and the
// count of omitted characters. It does not split escapes or grapheme clusters,
// even clusters written as escapes.
func cutString(raw string, room int) string {
	raw = raw[1 : len(raw)-1]
	total := 0
	for i := 0; i < len(raw); total++ {
		i += unit(raw, i)
	}
	room -= 4 + digits(total)
	var plain strings.Builder
	var ends []int // for each byte of plain, the end of its unit in raw
	end := 0
	for i, used := 0, 0; i < len(raw) && len(ends) <= end+8*maxCluster; {
		n := unit(raw, i)
		used += runes(raw[i : i+n])
		i += n
		s := unescape(raw[i-n : i])
		plain.WriteString(s)
		for range len(s) {
			ends = append(ends, i)
		}
		if used <= room {
			end = len(ends)
		}
	}
	end, _ = clusterAt(plain.String(), end)
	if end == 0 {
		return `"…+` + itoa(total) + `"`
	}
	rest := total - runes(plain.String()[:end])
	return `"` + raw[:ends[end-1]] + `…+` + itoa(rest) + `"`
}

// unit returns the length in bytes of the character at i of a JSON string: an
// escape, two escapes of a surrogate pair, or a code point.
func unit(raw string, i int) int {
	switch {
	case raw[i] != '\\':
		return step(raw, i)
	case raw[i+1] != 'u':
		return 2
	case i+12 <= len(raw) && hasFold(raw[i+2:], "d") && strings.IndexByte("89abAB", raw[i+3]) >= 0 &&
		hasFold(raw[i+6:], `\ud`) && strings.IndexByte("cdefCDEF", raw[i+9]) >= 0:
		return 12
	}
	return 6
}

// unescape returns the character that a unit represents.
func unescape(unit string) string {
	if unit[0] != '\\' {
		return unit
	}
	s, err := strconv.Unquote(`"` + unit + `"`)
	switch {
	case err == nil:
		return s
	case len(unit) == 12:
		hi, _ := strconv.ParseUint(unit[2:6], 16, 16)
		lo, _ := strconv.ParseUint(unit[8:], 16, 16)
		return string(rune((hi-0xd800)<<10 + lo - 0xdc00 + 0x10000))
	case unit == `\/`:
		return "/"
	}
	return "\ufffd" // half of a surrogate pair
}

func itoa(n int) string { return strconv.Itoa(n) }
