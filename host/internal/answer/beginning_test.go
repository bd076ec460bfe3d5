package answer

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weirhost/weir/sdk/tool"
)

func TestOnlyTheBeginningIsKept(t *testing.T) {
	full := strings.Repeat("x", tool.MaxWhole)
	text := func(s string) string { return `{"content":[{"type":"text","text":"` + s }
	for _, tt := range []struct {
		name, raw string
		mcp, cut  bool
		want      string
	}{
		{"as much as is kept", full, false, false, full},
		{"a byte more", full + "y", false, true, full},
		{"never a part of a character", full[:tool.MaxWhole-2] + "水水", false, true, full[:tool.MaxWhole-2]},
		{"a whole one", full[:tool.MaxWhole-3] + "水水", false, true, full[:tool.MaxWhole-3] + "水"},
		{"a text of a result", text(full) + `y"}]}`, true, true, full},
		{"two texts together", text(full[:tool.MaxWhole/2]) + `"},{"type":"text","text":"` + full + `"}]}`, true, true, full[:tool.MaxWhole/2] + "\n" + full[:tool.MaxWhole/2-1]},
		{"a text that is too long to be read as JSON", text(strings.Repeat(full, 4)) + `"}]}`, true, true, full},
		{"cut in an escape", text(strings.Repeat(`\u0078`, MaxMCP/6)), true, true, full[:(MaxMCP-len(text("")))/6]},
		{"a long part after a text", text(`short"},{"type":"image","data":"`) + strings.Repeat(full, 3) + `"}]}`, true, true, "short"},
		{"another form, as it came", `{"data":"` + strings.Repeat(full, 3) + `"}`, true, true, `{"data":"` + full[:tool.MaxWhole-9]},
	} {
		var a Answer
		if a = DecodeText([]byte(tt.raw)); tt.mcp {
			a = DecodeMCP([]byte(tt.raw), tool.En)
		}
		if a.Text != tt.want || a.Cut != tt.cut || a.Err != nil || a.RawSize != len(tt.raw) || !utf8.ValidString(a.Text) {
			t.Errorf("%s: %d bytes, want %d; cut %v, %v", tt.name, len(a.Text), len(tt.want), a.Cut, a.Err)
		}
	}
}
