package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/internal/term"
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

// The files of examples/clients are what is printed for each client.
func TestClientExamples(t *testing.T) {
	for _, m := range mcpClients() {
		var out bytes.Buffer
		c := newCLI(term.Env{Out: &out, Err: io.Discard})
		c.workspace = "/home/ann/project"
		e, err := c.stdioEntry(paths{}, place{}, m)
		if err != nil {
			t.Fatal(err)
		}
		e.Command = "/usr/local/bin/weir"
		if err := c.printEntry(m, e, ""); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(guesttest.Root(t), "examples/clients", m.name+".json")
		if want, err := os.ReadFile(file); err != nil || string(want) != out.String() {
			t.Errorf("%s should hold (%v):\n%s", file, err, out.String())
		}
	}
}
