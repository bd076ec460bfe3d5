package tomledit

import (
	"strings"
	"testing"
)

// A table that was added goes again, and all other text stays.
func TestRemoveTable(t *testing.T) {
	add := []Change{{Path: []string{"servers", "weir", "url"}, Value: "http://x"}, {Path: []string{"servers", "weir", "headers", "Authorization"}, Value: "Bearer t"}}
	for _, text := range []string{
		"", "model = \"m\" # mine\n", "a = 1\n\n[servers.other]\ncommand = \"x\"\n# the end\n", "# top\n\n[z]\nb = 2\n",
	} {
		set, err := Apply(text, add)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := RemoveTable(set, "servers", "weir"); err != nil || got != text {
			t.Errorf("%v\n%s\nwas\n%s\nbefore\n%s", err, got, set, text)
		}
	}
	for _, row := range [][2]string{
		{"[servers.weir]\nurl = \"x\"\n\n# of the next\n[z]\nb = 2\n", "# of the next\n[z]\nb = 2\n"},
		{"a = 1\n\n[servers.weir]\nurl = \"x\"\n\n[z]\nb = 2\n\n[servers.weir.headers]\nc = 1\n", "a = 1\n\n[z]\nb = 2\n"},
		{"[servers.weir]\n# said\nurl = \"x\" # here\n[z]\nb = 2\n", "# said\n# here\n[z]\nb = 2\n"},
		{"[servers.other]\nurl = \"x\"\n", "[servers.other]\nurl = \"x\"\n"},
	} {
		if got, err := RemoveTable(row[0], "servers", "weir"); err != nil || got != row[1] {
			t.Errorf("%s: %v\n%s", row[0], err, got)
		}
	}
	for _, text := range []string{"servers = { weir = { url = \"x\" } }\n", "[servers]\nweir.url = \"x\"\n", "[servers\n"} {
		if got, err := RemoveTable(text, "servers", "weir"); err == nil {
			t.Errorf("%s: %s", strings.TrimSpace(text), got)
		}
	}
}
