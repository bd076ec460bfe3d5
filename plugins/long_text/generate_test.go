package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weirhost/weir/sdk/guest"
	"github.com/weirhost/weir/sdk/tool"
	"pgregory.net/rapid"
)

func TestDefaultText(t *testing.T) {
	out, err := guest.Invoke(generate, `{}`, guest.Options{})
	if err != nil || utf8.RuneCountInString(out.Text) != 52000 || out.More != nil {
		t.Fatalf("%v, %d characters, more %v", err, utf8.RuneCountInString(out.Text), out.More)
	}
	lines := strings.Split(out.Text, "\n")
	if len(lines) != 801 || lines[800] != "" {
		t.Errorf("%d lines", len(lines)-1)
	}
	if want := "line 600: gate open at the bend, level 3.92 m, mark 51259 ......"; lines[599] != want {
		t.Errorf("line 600 is %q, want %q", lines[599], want)
	}
	again, err := guest.Invoke(generate, `{"seed":0,"lines":800}`, guest.Options{})
	if err != nil || again.Text != out.Text {
		t.Error("the same arguments give another text")
	}
	other, err := guest.Invoke(generate, `{"seed":1}`, guest.Options{})
	if err != nil || other.Text == out.Text || len(other.Text) != len(out.Text) {
		t.Error("another seed must give another text of the same length")
	}
}

func TestMarksAreUnique(t *testing.T) {
	out, err := guest.Invoke(generate, `{"lines":100000,"seed":-5}`, guest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for text := range strings.Lines(out.Text) {
		_, mark, _ := strings.Cut(text, "mark ")
		if seen[mark] {
			t.Fatalf("mark %s stands twice", mark)
		}
		seen[mark] = true
	}
}

// TestEveryLine: whatever the numbers, a line has its length and its number.
func TestEveryLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, seed := rapid.IntRange(1, maxLines).Draw(t, "n"), rapid.Int().Draw(t, "seed")
		got := line(n, seed)
		if len(got) != lineChars-1 || !strings.HasPrefix(got, fmt.Sprintf("line %d: ", n)) || !strings.HasSuffix(got, "..") {
			t.Fatalf("line(%d, %d) = %q", n, seed, got)
		}
	})
}

// TestLongestLine: the longest words beside the highest number still fit.
func TestLongestLine(t *testing.T) {
	for seed := range 2000 {
		if got := line(maxLines, seed); len(got) != lineChars-1 || !strings.HasSuffix(got, " ..") && !strings.HasSuffix(got, "...") {
			t.Fatalf("line(%d, %d) = %q", maxLines, seed, got)
		}
	}
}

func TestTooManyLines(t *testing.T) {
	out, err := guest.Invoke(generate, `{"lines":100001}`, guest.Options{})
	if err != nil || len(out.Text) != maxLines*lineChars || out.More == nil || out.More.Total != 100001 || out.More.Shown != maxLines {
		t.Errorf("%v, %d, %+v", err, len(out.Text), out.More)
	}
	_, err = guest.Invoke(generate, `{"lines":-1}`, guest.Options{})
	if e, ok := errors.AsType[*tool.Error](err); !ok || e.Code != tool.BadArgs {
		t.Errorf("negative: %v", err)
	}
}
