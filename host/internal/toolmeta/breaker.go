package toolmeta

// A breaker says when a round leaves a model alone. A stranger's texts may make it fail:
// then only tools of the same source wait. Failures for several sources in a row mean
// that the model is away. The zero value lets everything pass.
type breaker struct {
	bySource map[string]int // failures in a row
	inRow    int
}

// The failures in a row after which the tools of a source, and all tools, wait for the
// next round. A round begins when the tools change, and every roundTime.
const maxFailures, maxInRow = 3, 9

// passes reports whether the model is asked about a tool of a source.
func (b *breaker) passes(source string) bool {
	return b.inRow < maxInRow && b.bySource[source] < maxFailures
}

// count counts the outcome of a request about tools of a source; empty: of several.
func (b *breaker) count(source string, ok bool) {
	if b.bySource == nil {
		b.bySource = map[string]int{}
	}
	switch {
	case ok:
		b.inRow, b.bySource[source] = 0, 0
	default:
		b.inRow++
		if source != "" {
			b.bySource[source]++
		}
	}
}
