package limit

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhost/weir/sdk/tool"
)

// A view without its text has the same text after Restore, whatever cut it.
func TestRestore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := rapid.StringOfN(rapid.SampledFrom([]rune("ab \n\n\r\t水👩\u200d\u0301{}\":,1")), 0, 3000, -1).Draw(t, "whole")
		l := tool.Limits{
			MaxChars: rapid.IntRange(0, 1500).Draw(t, "chars"), MaxLines: rapid.IntRange(0, 40).Draw(t, "lines"),
			Strategy: rapid.SampledFrom([]tool.Strategy{tool.HeadOnly, tool.TailOnly, tool.HeadTail, tool.JSON}).Draw(t, "strategy"),
			Head:     rapid.Float64Range(0, 1).Draw(t, "head"), Tail: rapid.Float64Range(0, 1).Draw(t, "tail"),
		}
		if rapid.Bool().Draw(t, "keep") {
			l.Keep = []string{"水|1"}
		}
		want := Apply(whole, l, By{Chars: tool.LayerTool, Lines: tool.LayerTool})
		v := want
		v.Text = ""
		if got, ok := Restore(whole, v); !ok || got.Text != want.Text {
			t.Fatalf("%v %q; want %q", ok, got.Text, want.Text)
		}
		if _, ok := Restore(whole+"more", v); ok {
			t.Fatal("another text was taken for the whole")
		}
	})
}
