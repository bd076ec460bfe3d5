package tool

import (
	"strings"
	"testing"
	"time"
)

func TestValidName(t *testing.T) {
	for name, want := range map[string]bool{
		"a": true, "grep_search": true, "x9": true, "server__tool": true,
		strings.Repeat("a", 64): true,
		"":                      false,
		strings.Repeat("a", 65): false,
		"9x":                    false, // begins with a digit
		"_x":                    false, // begins with an underscore
		"Grep":                  false, // upper case: names that differ in case alone deceive
		"grep-search":           false,
		"greр":                  false, // a Cyrillic letter
		"a b":                   false,
	} {
		if got := ValidName(name); got != want {
			t.Errorf("ValidName(%q) = %v", name, got)
		}
	}
}

func TestBytes(t *testing.T) {
	for text, want := range map[string]Bytes{
		"0": 0, "17": 17, "64MiB": 64 << 20, "64 MiB": 64 << 20, "1.5KiB": 1536, "2G": 2 << 30, "5mb": 5e6, "8k": 8192, "1e3": 1000,
	} {
		var b Bytes
		if err := b.UnmarshalText([]byte(text)); err != nil || b != want {
			t.Errorf("%q read as %d, %v; want %d", text, b, err, want)
		}
		var again Bytes
		if err := again.UnmarshalText([]byte(b.String())); err != nil || again != b {
			t.Errorf("%q printed as %q, which reads as %d", text, b, again)
		}
	}
	for _, text := range []string{"", "many", "-1", "1 XiB", "99999999999G", "NaN"} {
		b := Bytes(7)
		if err := b.UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), "64MiB") {
			t.Errorf("%q: %v", text, err)
		}
		if b != 7 {
			t.Errorf("%q changed the value", text)
		}
	}
}

// A layer states what it states; the rest comes from the layer below.
func TestLimitsOr(t *testing.T) {
	below := Limits{MaxChars: 8000, MaxLines: 500, Strategy: HeadTail, Head: 0.4, Tail: 0.4, Keep: []string{"x"}, Archive: ArchiveAuto, Timeout: time.Second, Memory: 1}
	if got := (Limits{}).Or(below); got.MaxChars != 8000 || got.MaxLines != 500 || got.Head != 0.4 || got.Keep[0] != "x" || got.Timeout != time.Second || got.Memory != 1 || got.Archive != ArchiveAuto {
		t.Errorf("an empty layer changed something: %+v", got)
	}
	got := Limits{MaxChars: 300, Tail: 1, Keep: []string{}}.Or(below)
	if got.MaxChars != 300 || got.MaxLines != 500 {
		t.Errorf("characters and lines are stated apart: %+v", got)
	}
	if got.Head != 0 || got.Tail != 1 {
		t.Errorf("head and tail are stated together: %+v", got)
	}
	if got.Keep == nil || len(got.Keep) != 0 {
		t.Errorf("an empty list states that nothing is kept: %v", got.Keep)
	}
}

func TestResultWhole(t *testing.T) {
	r := Result{Shown: View{Text: "cut"}}
	if r.Whole() != "cut" {
		t.Error("without a whole, what is shown is all there is")
	}
	r = r.WithWhole("the whole")
	if r.Whole() != "the whole" {
		t.Error(r.Whole())
	}
	r.Release()
	if r.Whole() != "cut" {
		t.Error("released, only the shown text is left")
	}
}
