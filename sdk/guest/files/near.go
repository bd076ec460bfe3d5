package files

import (
	"cmp"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/weirhost/weir/sdk/tool"
)

const (
	nearNames  = 3    // suggestions given for one missing name
	nearVisits = 5000 // entries looked at to find them
)

// suggest writes the hint for a name that is not there: the nearest names in
// the tree, or else what is in the folder where the path breaks off.
func (t Tree) suggest(name string) tool.Text {
	if near := t.near(name); len(near) > 0 {
		return tool.Text{Format: "Did you mean %s?", Zh: "你要找的是 %s 吗？", Args: []any{strings.Join(near, ", ")}}
	}
	dir := path.Dir(name)
	for dir != "." && t.missing(dir) {
		dir = path.Dir(dir)
	}
	return tool.Text{Format: "In %s are: %s.", Zh: "%s 中有：%s。", Args: []any{dir, t.listing(dir)}}
}

// near finds names whose last element is like the wanted one, best first. The
// wanted name in another folder is nearer than a misspelling in the right one.
func (t Tree) near(name string) []string {
	type candidate struct {
		name     string
		distance int
	}
	want := strings.ToLower(path.Base(name))
	var found []candidate
	visits := 0
	err := t.Walk(".", func(e Entry) error {
		if visits++; visits > nearVisits {
			return fs.SkipAll
		}
		got := strings.ToLower(path.Base(e.Name))
		if d := distance(want, got); d <= len(want)/3 || strings.HasPrefix(got, want+".") {
			found = append(found, candidate{e.Name, d})
		}
		return nil
	})
	if err != nil {
		return nil
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	names := make([]string, 0, nearNames)
	for _, c := range found[:min(nearNames, len(found))] {
		names = append(names, c.name)
	}
	return names
}

// distance counts the single-byte edits between two short names; swapping two
// neighbours counts as two.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			above := row[j+1]
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			row[j+1] = min(above+1, row[j]+1, change)
			diagonal = above
		}
	}
	return row[len(b)]
}
