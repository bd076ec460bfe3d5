package testsize

import "testing"

func TestAPartOrAll(t *testing.T) {
	for value, want := range map[string]int{"": 3, "all": 9, "ALL": 3} {
		t.Setenv(Variable, value)
		if got := Of(3, 9); got != want {
			t.Errorf("%s=%s: %d", Variable, value, got)
		}
		ran := false
		t.Run("only", func(t *testing.T) { Only(t); ran = true })
		if ran != (want == 9) {
			t.Errorf("%s=%s: a test of the long form ran: %t", Variable, value, ran)
		}
	}
}
