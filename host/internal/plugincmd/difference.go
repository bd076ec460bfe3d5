package plugincmd

// lineDifference lists the removed and the added lines, each with its
// sign, in the order of the new text.
func lineDifference(was, is []string) []string {
	// Common beginnings and ends are most of it; a table of the rest is small.
	head := 0
	for head < len(was) && head < len(is) && was[head] == is[head] {
		head++
	}
	tail := 0
	for tail < len(was)-head && tail < len(is)-head && was[len(was)-1-tail] == is[len(is)-1-tail] {
		tail++
	}
	was, is = was[head:len(was)-tail], is[head:len(is)-tail]
	if len(was)*len(is) > 1<<20 { // too large for the table: all out, all in
		var out []string
		for _, l := range was {
			out = append(out, "- "+l)
		}
		for _, l := range is {
			out = append(out, "+ "+l)
		}
		return out
	}
	longest := make([][]int, len(was)+1)
	for i := range longest {
		longest[i] = make([]int, len(is)+1)
	}
	for i := len(was) - 1; i >= 0; i-- {
		for j := len(is) - 1; j >= 0; j-- {
			if was[i] == is[j] {
				longest[i][j] = longest[i+1][j+1] + 1
			} else {
				longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			}
		}
	}
	var out []string
	for i, j := 0, 0; i < len(was) || j < len(is); {
		switch {
		case i < len(was) && j < len(is) && was[i] == is[j]:
			i, j = i+1, j+1
		case i < len(was) && (j == len(is) || longest[i+1][j] >= longest[i][j+1]):
			out, i = append(out, "- "+was[i]), i+1
		default:
			out, j = append(out, "+ "+is[j]), j+1
		}
	}
	return out
}
