package main

import (
	"path/filepath"
	"testing"
)

func TestClientFiles(t *testing.T) {
	linux := place{os: "linux", home: "/home/ann", config: "/home/ann/.config", workspace: "/project"}
	mac := place{os: "darwin", home: "/Users/ann", config: "/Users/ann/.config", workspace: "/project"}
	windows := place{os: "windows", home: "/C/ann", appData: "/C/ann/AppData/Roaming", config: "/C/ann/.config", workspace: "/project"}
	for client, want := range map[string][3]string{
		"claude-desktop": {"/home/ann/.config/Claude/claude_desktop_config.json", "/Users/ann/Library/Application Support/Claude/claude_desktop_config.json", "/C/ann/AppData/Roaming/Claude/claude_desktop_config.json"},
		"claude-code":    {"/project/.mcp.json", "/project/.mcp.json", "/project/.mcp.json"},
		"cursor":         {"/home/ann/.cursor/mcp.json", "/Users/ann/.cursor/mcp.json", "/C/ann/.cursor/mcp.json"},
		"vscode":         {"/home/ann/.config/Code/User/mcp.json", "/Users/ann/Library/Application Support/Code/User/mcp.json", "/C/ann/AppData/Roaming/Code/User/mcp.json"},
		"zed":            {"/home/ann/.config/zed/settings.json", "/Users/ann/.config/zed/settings.json", "/C/ann/AppData/Roaming/Zed/settings.json"},
	} {
		for _, m := range mcpClients() {
			if m.name != client {
				continue
			}
			for i, p := range []place{linux, mac, windows} {
				if got := filepath.ToSlash(m.file(p)); got != want[i] {
					t.Errorf("%s on %s: %s, want %s", client, p.os, got, want[i])
				}
			}
		}
	}
}
