package answer

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/weirhost/weir/sdk/tool"
)

// What a tool says of its entries is read in one step and in two, for the text as
// normalising makes it. What cannot be is nothing, and the result stays.
func TestDecodeEntries(t *testing.T) {
	result := func(text, entries string) string {
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf(`{"content":[{"type":"text","text":%s},{"type":"text","text":"the end"}],"entries":%s}`, quoted, entries)
	}
	many := "[" + strings.Repeat("1,", tool.MaxEntries) + "2]"
	for _, tt := range []struct {
		name, raw string
		want      *tool.Entries
	}{
		{"entries", result("head\na\nb\nmore of b", `{"lines":[2,3,5],"show":2}`), &tool.Entries{Lines: []int{2, 3, 5}, Show: 2}},
		{"none", result("a", `{"lines":[]}`), nil},
		{"null", result("a", `null`), nil},
		{"another type", result("a", `"2,3"`), nil},
		{"fractions", result("a\nb", `{"lines":[1.5]}`), nil},
		{"numbers that are too large", result("a\nb", `{"lines":[1,99999999999999999999]}`), nil},
		{"too many", result("a\nb", `{"lines":`+many+`}`), nil},
		{"nested", result("a", `{"lines":[[1]]}`), nil},
		{"colours", result("\x1b[1mhead\x1b[0m\na\n\x1b[31mb\x1b[0m\n", `{"lines":[2,3]}`), &tool.Entries{Lines: []int{2, 3}}},
		{"a line end that normalising makes", result("head\na\fof a\nb\n", `{"lines":[2,3]}`), &tool.Entries{Lines: []int{2, 4}}},
		{"line ends of Windows", result("head\r\na\r\nb\r\n", `{"lines":[2,3]}`), &tool.Entries{Lines: []int{2, 3}}},
		{"after the text, of a text that is changed", result("\x1b[1mhead\x1b[0m\na\n", `{"lines":[2,9]}`), &tool.Entries{Lines: []int{2}}},
		{"not ascending, in a text that is changed", result("\x1b[1mhead\x1b[0m\na\nb\n", `{"lines":[3,2]}`), nil},
		{"a terminal that goes back over them", result("head\na\x1b[1A\x1b[2Kx\nb\n", `{"lines":[2,3]}`), nil},
	} {
		got := DecodeMCP([]byte(tt.raw), tool.En)
		if got.Err != nil || !strings.HasSuffix(got.Text, "the end") {
			t.Errorf("%s: %v, %q", tt.name, got.Err, got.Text)
		}
		if !reflect.DeepEqual(got.Entries, tt.want) {
			t.Errorf("%s: %.200s, want %.200s", tt.name, fmt.Sprintf("%+v", got.Entries), fmt.Sprintf("%+v", tt.want))
		}
		same(t, []byte(tt.raw))
	}
	if a := DecodeMCP([]byte(result(strings.Repeat("x", tool.MaxWhole)+"\nb\n", `{"lines":[1,2]}`)), tool.En); !a.Cut || a.Entries == nil {
		t.Errorf("of a text that is cut off: cut %v, %+v", a.Cut, a.Entries)
	}
	d := decoded{pieces: []piece{{text: "a\nb"}}, size: 9, entries: &tool.Entries{Lines: []int{1, 2}, Show: 1}}
	if a := DecodeFlat(d.flat(nil), tool.En); !reflect.DeepEqual(a.Entries, d.entries) {
		t.Errorf("flat: %+v", a.Entries)
	}
	d.entries.Lines = make([]int, tool.MaxEntries+1)
	if IsFlat(d.flat(nil)) {
		t.Error("too many entries are flat")
	}
}
