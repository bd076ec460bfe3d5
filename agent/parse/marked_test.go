package parse_test

import (
	"strings"
	"testing"

	"github.com/weirhost/weir/agent/parse"
)

// Where calls come as data, every text is text, but for one call in marks that is alone at
// the end. Nothing is malformed.
func TestWhereMarksAloneCount(t *testing.T) {
	o := house()
	o.Marked = true
	for _, text := range allTexts() {
		for _, after := range []string{"", "\nThat is it."} {
			var said strings.Builder
			calls := 0
			for _, e := range parse.All(o, "Well.\n"+text+after) {
				switch e := e.(type) {
				case parse.Text:
					said.WriteString(e.Text)
				case parse.Reasoning:
					said.WriteString(e.Text)
				case parse.Call:
					calls++
				case parse.Malformed:
					t.Errorf("%v\n%s", e, text)
				}
			}
			switch {
			case after != "" && calls > 0, calls > 1:
				t.Errorf("%d calls:\n%s", calls, text)
			case calls == 0 && lost(said.String(), "Well.\n"+text+after):
				t.Errorf("text is lost: %q\nof\n%s", said.String(), text)
			}
		}
	}
}

// lost reports whether words of text are missing: what is left out may be special tokens
// and the marks of thoughts.
func lost(said, text string) bool {
	for _, w := range []string{"get_weather", "get_time", "Paris", "Oslo", "That is it."} {
		if strings.Count(text, w) != strings.Count(said, w) {
			return true
		}
	}
	return false
}

// Text goes out with the piece that brings it, whatever it speaks of.
func TestTextIsNotHeldWhereMarksAloneCount(t *testing.T) {
	o := house()
	o.Marked = true
	p := parse.New(o)
	for _, piece := range []string{"Use ", "get_weather", "(city=", "'Oslo')", " or: ", "{\"name\": ", "\"get_weather\"", "}\n", "get_weather\n", "```json\n", "{\"tool\":", " 1}\n", "Action: ", "get_time\n"} {
		got := ""
		for _, e := range p.Feed(piece) {
			got += e.(parse.Text).Text
		}
		if got != piece {
			t.Errorf("%q brings %q", piece, got)
		}
	}
}
