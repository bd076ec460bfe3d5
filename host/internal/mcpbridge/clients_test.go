package mcpbridge

import (
	"path/filepath"
	"testing"
)

func TestClientFiles(t *testing.T) {
	linux := Dirs{OS: "linux", Home: "/home/ann", Config: "/home/ann/.config", Workspace: "/project"}
	mac := Dirs{OS: "darwin", Home: "/Users/ann", Config: "/Users/ann/.config", Workspace: "/project"}
	windows := Dirs{OS: "windows", Home: "/C/ann", AppData: "/C/ann/AppData/Roaming", Config: "/C/ann/.config", Workspace: "/project"}
	for client, want := range map[string][3]string{
		"claude-desktop": {"/home/ann/.config/Claude/claude_desktop_config.json", "/Users/ann/Library/Application Support/Claude/claude_desktop_config.json", "/C/ann/AppData/Roaming/Claude/claude_desktop_config.json"},
		"claude-code":    {"/project/.mcp.json", "/project/.mcp.json", "/project/.mcp.json"},
		"cursor":         {"/home/ann/.cursor/mcp.json", "/Users/ann/.cursor/mcp.json", "/C/ann/.cursor/mcp.json"},
		"vscode":         {"/home/ann/.config/Code/User/mcp.json", "/Users/ann/Library/Application Support/Code/User/mcp.json", "/C/ann/AppData/Roaming/Code/User/mcp.json"},
		"zed":            {"/home/ann/.config/zed/settings.json", "/Users/ann/.config/zed/settings.json", "/C/ann/AppData/Roaming/Zed/settings.json"},
	} {
		for _, m := range Clients() {
			if m.Name != client {
				continue
			}
			for i, p := range []Dirs{linux, mac, windows} {
				if got := filepath.ToSlash(m.File(p)); got != want[i] {
					t.Errorf("%s on %s: %s, want %s", client, p.OS, got, want[i])
				}
			}
		}
	}
}
