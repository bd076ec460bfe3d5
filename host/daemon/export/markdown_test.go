package export

import (
	"bufio"
	"strings"
	"testing"
)

// What a model or a tool writes cannot end its fence.
func TestMarkdownFences(t *testing.T) {
	for _, text := range []string{"```", "a\n`````\n# heading", "``` \n~~~", "", "x"} {
		var b strings.Builder
		w := bufio.NewWriter(&b)
		(&markdown{w: w}).fence("text", text)
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(b.String()), "\n")
		fence := lines[len(lines)-1]
		if n := strings.Count(b.String(), fence); n != 2 || len(fence) < 3 {
			t.Errorf("%q is fenced as %q", text, b.String())
		}
	}
}
