package guest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhost/weir/sdk/tool"
)

func TestList(t *testing.T) {
	var l List
	l.Head = "two lines,\nknown at the end\n"
	l.Show = 2
	l.WriteString("head\n")
	l.Entry()
	l.WriteString("1. one")
	l.Entry()
	fmt.Fprint(&l, "2. two\nmore of it\n")
	l.Entry()
	l.Entry()
	l.WriteString("3. 三")
	r := l.Result()
	want := "two lines,\nknown at the end\nhead\n1. one\n2. two\nmore of it\n3. 三"
	if r.Text != want || r.Entries == nil || r.Entries.Show != 2 || !slices.Equal(r.Entries.Lines, []int{4, 5, 7}) {
		t.Errorf("%q %+v", r.Text, r.Entries)
	}
	out, err := Invoke(returns(r, nil), "", Options{})
	if err != nil || !strings.HasSuffix(string(out.Raw), `,"entries":{"lines":[4,5,7],"show":2},"isError":false}`) || out.Entries == nil {
		t.Errorf("%v %s", err, out.Raw)
	}
	if r := new(List).Result(); r.Text != "" || r.Entries != nil {
		t.Errorf("an empty list: %+v", r)
	}
}

// Each entry is at its line, whatever its size, and the text is what was written.
func TestListOfAnySize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l List
		var want strings.Builder
		entries := rapid.SliceOfN(rapid.StringMatching(`[a-z]{1,5}\n?[a-z]{1,5}`), 1, 8).Draw(t, "entries")
		times := rapid.SampledFrom([]int{1, 1000, 100_000}).Draw(t, "times")
		for _, s := range entries {
			s = strings.Repeat(s, times)
			l.Entry()
			l.WriteString(s)
			want.WriteString(s + "\n")
		}
		r := l.Result()
		if r.Text+"\n" != want.String() || len(r.Entries.Lines) != len(entries) || l.Len() != len(r.Text) {
			t.Fatalf("%d bytes, %d entries", len(r.Text), len(r.Entries.Lines))
		}
		lines := strings.Split(r.Text, "\n")
		for i, n := range r.Entries.Lines {
			if first, _, _ := strings.Cut(strings.Repeat(entries[i], times), "\n"); lines[n-1] != first {
				t.Fatalf("entry %d is not at line %d", i, n)
			}
		}
	})
	var l List
	if !l.Fits(tool.MaxWhole-1) || l.Fits(tool.MaxWhole) {
		t.Error("the host keeps 8 MiB")
	}
	for range tool.MaxEntries {
		l.Entry()
		l.WriteString("x")
	}
	if l.Fits(1) {
		t.Error("the host keeps 100,000 entries")
	}
}
