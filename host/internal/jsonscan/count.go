package jsonscan

// Counts says how much a JSON text holds.
type Counts struct {
	Values int // at all levels, the text itself included; keys do not count
	Items  int // values directly inside the text's outermost array or object
	Names  int // keys of objects, at all levels
	Depth  int // of the value that is nested deepest; 0 for a scalar
}

// Count counts the values of a JSON text in one pass and without memory, so that a
// caller can refuse a text that would need many times its size as Go values. Of an
// invalid text it returns some counts.
func Count(text []byte) Counts {
	c := checker{s: text}
	var n Counts
	depth := 0
	value := func() {
		n.Values++
		if depth == 1 {
			n.Items++
		}
	}
	for c.i < len(text) {
		switch c.next() {
		case '{', '[':
			value()
			depth++
			n.Depth = max(n.Depth, depth)
			c.i++
		case '}', ']':
			depth--
			c.i++
		case ',', ':', ' ', '\t', '\r', '\n':
			c.i++
		case '"':
			if !c.text() {
				return n
			}
			if c.space(); c.next() == ':' {
				n.Names++
			} else {
				value()
			}
		default:
			value()
			c.scalar()
		}
	}
	return n
}

// scalar skips a number or a word.
func (c *checker) scalar() {
	for c.i++; c.i < len(c.s); c.i++ {
		switch c.s[c.i] {
		case ',', ':', '}', ']', '{', '[', '"', ' ', '\t', '\r', '\n':
			return
		}
	}
}
