package plugincmd

import "testing"

func TestMiddleOut(t *testing.T) {
	if got := middleOut("1\n2\n3\n4\n5\n6\n", 4); got != "1\n2\n… (3 lines more)\n6" {
		t.Errorf("%q", got)
	}
	if got := middleOut("1\n2\n", 4); got != "1\n2\n" {
		t.Errorf("%q", got)
	}
}
