package text

import (
	"strings"
	"testing"
)

// A long text costs no more than its beginning.
func TestOneLineOfALongText(t *testing.T) {
	long := strings.Repeat("世 界\n", 1<<20)
	if got := OneLine(long, 5); got != "世 界 …" {
		t.Errorf("%q", got)
	}
	if got := OneLine(strings.Repeat(" ", 1<<10)+"x", 5); got != "x" {
		t.Errorf("%q", got)
	}
}
