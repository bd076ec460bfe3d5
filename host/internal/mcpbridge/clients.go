package mcpbridge

import (
	"os"
	"path/filepath"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/tool"
)

// A Client is a program that starts MCP servers from its own configuration file.
type Client struct {
	Name  string
	Table string // the member of its file that holds the servers
	Typed bool   // each server says by its type how it is reached
	HTTP  bool   // it reaches servers by HTTP with headers of its own
	// After says what a person does when the file has changed.
	After tool.Text
	// File returns the path of its configuration file.
	File func(Dirs) string
}

// InstallName returns the name by which `weir mcp install` knows the client.
func (m Client) InstallName() string {
	if m.Name == "claude-code" { // the file of a user, in place of the one in a folder
		return "claude"
	}
	return m.Name
}

// Dirs are the folders in which programs of one machine keep their configuration.
type Dirs struct {
	OS                               string // as runtime.GOOS
	Home, AppData, Config, Workspace string
}

// DirsOf returns the folders by the variables of the environment, for a program that works
// in the folder workspace. It returns false if there is no home folder.
func DirsOf(getenv func(string) string, system, workspace string) (Dirs, bool) {
	home := getenv("HOME")
	if system == "windows" {
		home = getenv("USERPROFILE")
	}
	d := Dirs{OS: system, Home: home, AppData: getenv("APPDATA"), Config: getenv("XDG_CONFIG_HOME"), Workspace: workspace}
	if !filepath.IsAbs(d.Config) { // the XDG standard ignores relative paths
		d.Config = filepath.Join(home, ".config")
	}
	return d, home != ""
}

// app returns the folder of an application's configuration.
func (d Dirs) app(name string) string {
	switch d.OS {
	case "darwin":
		return filepath.Join(d.Home, "Library", "Application Support", name)
	case "windows":
		return filepath.Join(d.AppData, name)
	}
	return filepath.Join(d.Config, name)
}

// Clients returns the known clients.
func Clients() []Client {
	return []Client{
		{"claude-desktop", "mcpServers", false, false, tool.Textf("quit Claude and start it again"),
			func(d Dirs) string { return filepath.Join(d.app("Claude"), "claude_desktop_config.json") }},
		{"claude-code", "mcpServers", true, true, tool.Textf("start claude in this folder, and allow the server when it asks"),
			func(d Dirs) string { return filepath.Join(d.Workspace, ".mcp.json") }},
		{"cursor", "mcpServers", false, true, tool.Textf("look for weir among the MCP servers in Cursor's settings"),
			func(d Dirs) string { return filepath.Join(d.Home, ".cursor", "mcp.json") }},
		{"vscode", "servers", true, true, tool.Textf("run \"MCP: List Servers\" in VS Code, and start weir"),
			func(d Dirs) string { return filepath.Join(d.app("Code"), "User", "mcp.json") }},
		{"zed", "context_servers", false, true, tool.Textf("look for weir in the settings of Zed's agent panel"),
			func(d Dirs) string {
				if d.OS == "windows" {
					return filepath.Join(d.AppData, "Zed", "settings.json")
				}
				return filepath.Join(d.Config, "zed", "settings.json")
			}},
	}
}

// An Entry is what a client's file says about weir.
type Entry struct {
	Type    string            `json:"type,omitempty"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
}

// ServerName is the name of weir in clients' files.
const ServerName = "weir"

// StdioEntry returns an entry with which the client starts weir with the flags
// (name and path); a flag with an empty path is left out.
func (m Client) StdioEntry(flags [][2]string) (Entry, error) {
	exe, err := os.Executable()
	if err != nil {
		return Entry{}, msg.Errorf("the path of weir's own program is not known: %w", err)
	}
	e := Entry{Command: exe, Args: []string{"mcp"}}
	if m.Typed {
		e.Type = "stdio"
	}
	for _, flag := range flags {
		if flag[1] == "" {
			continue
		}
		abs, err := filepath.Abs(flag[1])
		if err != nil {
			return Entry{}, err
		}
		e.Args = append(e.Args, flag[0], abs)
	}
	return e, nil
}

// HTTPEntry returns an entry with which the client reaches the daemon at addr with
// a token.
func (m Client) HTTPEntry(addr, token string) Entry {
	e := Entry{URL: "http://" + addr + "/mcp", Headers: map[string]string{"Authorization": "Bearer " + token}}
	if m.Typed {
		e.Type = "http"
	}
	return e
}

// Document returns the part of the client's file that contains the entry.
func (m Client) Document(e Entry) map[string]map[string]Entry {
	return map[string]map[string]Entry{m.Table: {ServerName: e}}
}
