package text

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	names := []string{"read_file", "grep_search", "search_web", "calculator", "repo_map", "mcpServers"}
	tests := []struct{ name, want string }{
		{"raed_file", "read_file"},
		{"readfile", "read_file"},
		{"Read_File", "read_file"},
		{"grep", "grep_search"},
		{"search", "grep_search search_web"}, // both hold it
		{"calc", "calculator"},
		{"servers", "mcpServers"},
		{"zzz", ""},
		{"", ""},
		{"a", ""}, // too short to be meant for anything
		{strings.Repeat("x", 10000), ""},
	}
	for _, tt := range tests {
		if got := strings.Join(Nearest(tt.name, names), " "); got != tt.want {
			t.Errorf("%.20q: %s, want %s", tt.name, got, tt.want)
		}
	}
}
