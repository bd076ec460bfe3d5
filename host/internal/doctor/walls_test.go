package doctor

import (
	"strings"
	"testing"

	"github.com/weirhost/weir/host/internal/confine"
)

// What the kernel lacks is warned of, with what to do.
func TestWalls(t *testing.T) {
	for name, row := range map[string]struct {
		walls confine.Walls
		warns []string
	}{
		"all, as a user":    {confine.Walls{Calls: true, Landlock: 7}, nil},
		"all, as root":      {confine.Walls{Calls: true, Landlock: 7, Root: true, Nobody: true}, nil},
		"root in a cage":    {confine.Walls{Calls: true, Landlock: 7, Root: true}, []string{"may not become another user"}},
		"an old kernel":     {confine.Walls{Calls: true}, []string{"no Landlock"}},
		"built with cgo":    {confine.Walls{Linked: true}, []string{"built with cgo"}},
		"another processor": {confine.Walls{Landlock: 3}, []string{"no list of system calls"}},
	} {
		e := &exam{}
		e.walls(row.walls)
		var warned []string
		for _, f := range e.findings {
			if f.Status != OK {
				warned = append(warned, f.What.String())
				if f.Fix.IsZero() {
					t.Errorf("%s: %s: it says nothing to do", name, f.What)
				}
			}
		}
		if len(warned) != len(row.warns) {
			t.Errorf("%s: warned of %q, want %q", name, warned, row.warns)
			continue
		}
		for i, want := range row.warns {
			if !strings.Contains(warned[i], want) {
				t.Errorf("%s: warned of %q, want %q", name, warned[i], want)
			}
		}
	}
}
