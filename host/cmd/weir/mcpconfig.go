package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/jsonedit"
)

// An mcpClient is a program that starts MCP servers, by where and how it wants
// to be told of them.
type mcpClient struct {
	name  string
	table string // the member of its file that holds the servers
	typed bool   // each says by its type how it is reached
	http  bool   // it reaches servers by HTTP with headers of its own
	after string // what a person does then
	file  func(place) string
}

// A place is where programs keep their configuration.
type place struct {
	os                               string // as runtime.GOOS
	home, appData, config, workspace string
}

// app is the folder of an application's configuration, by the system's custom.
func (p place) app(name string) string {
	switch p.os {
	case "darwin":
		return filepath.Join(p.home, "Library", "Application Support", name)
	case "windows":
		return filepath.Join(p.appData, name)
	}
	return filepath.Join(p.config, name)
}

// mcpClients are those that are known, by the names of --client.
func mcpClients() []mcpClient {
	return []mcpClient{
		{"claude-desktop", "mcpServers", false, false, "quit Claude and start it again",
			func(p place) string { return filepath.Join(p.app("Claude"), "claude_desktop_config.json") }},
		{"claude-code", "mcpServers", true, true, "start claude in this folder, and allow the server when it asks",
			func(p place) string { return filepath.Join(p.workspace, ".mcp.json") }},
		{"cursor", "mcpServers", false, true, "look for weir among the MCP servers in Cursor's settings",
			func(p place) string { return filepath.Join(p.home, ".cursor", "mcp.json") }},
		{"vscode", "servers", true, true, "run \"MCP: List Servers\" in VS Code, and start weir",
			func(p place) string { return filepath.Join(p.app("Code"), "User", "mcp.json") }},
		{"zed", "context_servers", false, true, "look for weir in the settings of Zed's agent panel",
			func(p place) string {
				if p.os == "windows" {
					return filepath.Join(p.appData, "Zed", "settings.json")
				}
				return filepath.Join(p.config, "zed", "settings.json")
			}},
	}
}

func (c *cli) mcpConfigCmd() *cobra.Command {
	var client, file string
	var write, http bool
	var names []string
	for _, m := range mcpClients() {
		names = append(names, m.name)
	}
	cmd := &cobra.Command{
		Use: "config --client NAME", Short: "Print or write an MCP client's configuration", Args: argCount(0, 0, "no arguments"),
		Long: "Print what an MCP client has to be told so that it finds weir, or write it into the client's own file.\n" +
			"Clients start weir from anywhere: the folder that the tools see as /workspace is the current one,\nunless --workspace names another.",
		Example: "  weir mcp config --client claude-desktop\n  weir mcp config --client cursor --write\n  weir mcp config --client vscode --file .vscode/mcp.json --write",
		RunE: func(cmd *cobra.Command, _ []string) error {
			i := slices.IndexFunc(mcpClients(), func(m mcpClient) bool { return m.name == client })
			if i < 0 {
				return usagef("use one of: "+strings.Join(names, ", "), "--client is %q", client)
			}
			return c.configureClient(mcpClients()[i], file, write, http)
		},
	}
	f := cmd.Flags()
	f.StringVar(&client, "client", "", "the client: "+strings.Join(names, ", "))
	f.StringVar(&file, "file", "", "the client's `FILE` (default: where the client looks)")
	f.BoolVar(&write, "write", false, "write it into the client's file, which is kept beside it as it was")
	f.BoolVar(&http, "http", false, "let the client reach the daemon by HTTP; its token then stands in the client's file")
	_ = cmd.RegisterFlagCompletionFunc("client", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
	return cmd
}

// entry is what a client has to be told.
type entry struct {
	Type    string            `json:"type,omitempty"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
}

// ownName is what weir is called in clients' files.
const ownName = "weir"

func (c *cli) configureClient(m mcpClient, file string, write, http bool) error {
	p, err := c.findPaths()
	if err != nil {
		return err
	}
	where, err := c.place()
	if err != nil {
		return err
	}
	var e entry
	if http {
		e, err = c.httpEntry(p, m)
	} else {
		e, err = c.stdioEntry(p, where, m)
	}
	if err != nil {
		return err
	}
	if file == "" {
		file = m.file(where)
	}
	if !write {
		return c.printEntry(m, e, file)
	}
	return c.writeEntry(m, e, file)
}

// place is where this machine's programs keep their configuration.
func (c *cli) place() (place, error) {
	home := c.Getenv("HOME")
	if runtime.GOOS == "windows" {
		home = c.Getenv("USERPROFILE")
	}
	here, err := os.Getwd()
	if err != nil || home == "" {
		return place{}, usagef("set HOME, or name the client's file with --file", "there is no home folder to look for the client's file in")
	}
	p := place{os: runtime.GOOS, home: home, appData: c.Getenv("APPDATA"), config: c.Getenv("XDG_CONFIG_HOME"), workspace: here}
	if !filepath.IsAbs(p.config) { // the standard says to ignore relative ones
		p.config = filepath.Join(home, ".config")
	}
	return p, nil
}

// stdioEntry lets the client start weir, with everything that the current folder
// stands for written out.
func (c *cli) stdioEntry(p paths, where place, m mcpClient) (entry, error) {
	exe, err := os.Executable()
	if err != nil {
		return entry{}, fmt.Errorf("it is not known where weir itself is: %w", err)
	}
	e := entry{Command: exe, Args: []string{"mcp"}}
	if m.typed {
		e.Type = "stdio"
	}
	workspace := c.workspace
	if workspace == "" {
		workspace = c.Getenv("WEIR_WORKSPACE")
	}
	if workspace == "" {
		workspace = where.workspace
	}
	data := ""
	if c.data != "" {
		data = p.Data
	}
	for _, flag := range [][2]string{{"--config", p.Config}, {"--data", data}, {"--plugins", c.plugins}, {"--workspace", workspace}} {
		if flag[1] == "" {
			continue
		}
		abs, err := filepath.Abs(flag[1])
		if err != nil {
			return entry{}, err
		}
		e.Args = append(e.Args, flag[0], abs)
	}
	return e, nil
}

// httpEntry lets the client reach the daemon.
func (c *cli) httpEntry(p paths, m mcpClient) (entry, error) {
	if !m.http {
		return entry{}, usagef("leave --http out: it starts weir itself then", "%s reaches no server by HTTP with a token", m.name)
	}
	s, _, err := c.settings(p)
	if err != nil {
		return entry{}, err
	}
	token, err := p.EnsureToken()
	if err != nil {
		return entry{}, err
	}
	e := entry{URL: "http://" + s.WithDefaults().Server.Addr + "/mcp", Headers: map[string]string{"Authorization": "Bearer " + token}}
	if m.typed {
		e.Type = "http"
	}
	return e, nil
}

// printEntry shows what to put into which file.
func (c *cli) printEntry(m mcpClient, e entry, file string) error {
	whole := map[string]map[string]entry{m.table: {ownName: e}}
	if c.JSON {
		c.Print(map[string]any{"client": m.name, "file": file, "config": whole})
		return nil
	}
	c.errf("into %s, or with --write:\n", file)
	c.Print(whole)
	return nil
}

// writeEntry merges the entry into the client's file.
func (c *cli) writeEntry(m mcpClient, e entry, file string) error {
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real // what the link leads to is the file
	}
	old, err := os.ReadFile(file)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return usagef("check its permissions", "%s cannot be read: %s", file, config.Reason(err))
	}
	value, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return err
	}
	text, err := jsonedit.Set(string(old), m.table, ownName, string(value))
	if err != nil {
		return usagef("correct it, or add this by hand: weir mcp config --client "+m.name, "%s is left as it is: %s", file, err)
	}
	if text == string(old) {
		c.errf("%s says so already\n", file)
		return nil
	}
	backup := ""
	if !missing {
		backup = file + "." + time.Now().Format("20060102T150405.000") + ".bak"
		if err := os.WriteFile(backup, old, 0o600); err != nil {
			return usagef("free some space or check the folder's permissions", "%s is left as it is, for it cannot be kept as %s: %s", file, backup, config.Reason(err))
		}
	}
	allowed := os.FileMode(0o777)
	if len(e.Headers) > 0 {
		allowed = 0o700 // the token is for the eyes of its user alone
	}
	if err := config.ReplaceFile(file, text, allowed); err != nil {
		return usagef("free some space or check the folder's permissions", "%s cannot be written: %s", file, config.Reason(err))
	}
	if c.JSON {
		c.Print(map[string]any{"client": m.name, "file": file, "backup": backup})
	}
	c.errf("%s is written\n", file)
	if backup != "" {
		c.errf("as it was: %s\n", backup)
	}
	if len(e.Headers) > 0 {
		c.errf("it holds the daemon's token: do not hand it on, nor put it under version control\n")
	}
	c.errf("next: %s\n", phrase(m.after))
	return nil
}
