package history

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weirhost/weir/sdk/tool"
)

func TestFindShort(t *testing.T) {
	at := time.Date(2026, 11, 29, 9, 30, 0, 0, time.UTC)
	kept := []Short{
		{"calculator", json.RawMessage(`{"expression":"6*7"}`), "42", at},
		{"current_time", json.RawMessage(`{"zone":"Asia/Shanghai"}`), "Sunday, 29 November", at.Add(time.Minute)},
		{"read_file", json.RawMessage(`{"file_path":"a.txt"}`), strings.Repeat("padding\n", 200) + "the NEEDLE is here\n", at.Add(2 * time.Minute)},
		{"calculator", json.RawMessage(`{"expression":"6*8"}`), "48", at.Add(3 * time.Minute)},
	}
	for _, row := range []struct {
		query string
		want  []string // texts that are written, in this order
		none  []string
	}{
		{"6*7", []string{"calculator · ", "6*7", "2026-11-29 09:30", "\n42"}, []string{"48", "Sunday"}},
		{"calculator", []string{"\n48", "\n42"}, []string{"Sunday"}},
		{"SHANGHAI sunday", []string{"current_time", "\nSunday, 29 November"}, []string{"42"}},
		{"needle", []string{"read_file", "\n201: the NEEDLE is here"}, []string{"padding\npadding"}},
		{"needle calculator", nil, []string{"42", "NEEDLE", "Short results"}},
	} {
		var b strings.Builder
		writeShort(&b, tool.En, row.query, findShort(row.query, kept))
		rest := b.String()
		for _, w := range row.want {
			_, after, ok := strings.Cut(rest, w)
			if !ok {
				t.Errorf("%q: no %q, or not in this order, in %s", row.query, w, b.String())
			}
			rest = after
		}
		for _, n := range row.none {
			if strings.Contains(b.String(), n) {
				t.Errorf("%q: %q in %s", row.query, n, b.String())
			}
		}
	}
	var many []Short
	for i := range 100 {
		many = append(many, Short{Tool: "calculator", Text: fmt.Sprint("same ", i)})
	}
	if got := findShort("same", many); len(got) != 20 || got[0].Text != "same 99" {
		t.Errorf("%d of 100 results, first %q", len(got), got[0].Text)
	}
}
