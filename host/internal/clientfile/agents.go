package clientfile

import (
	"path/filepath"

	"github.com/weirhost/weir/sdk/tool"
)

// ServerName is the name of weir in the files of clients.
const ServerName = "weir"

// An Agent is a program that asks a model and calls tools by itself.
type Agent struct {
	Name string // as [clients.NAME] and its token have it
	// File returns the path of the program's own configuration of a user; nil: of a Plain one.
	File func(Dirs) string
	// NoModel says why weir cannot be the program's model. Zero: it can.
	NoModel tool.Text
	// sets returns the values with which the program uses weir.
	sets func(Weir) []Set
}

// Dirs are the folders from which the paths of the files follow.
type Dirs struct {
	Home   string
	Config string // of all programs, by the XDG standard
	Getenv func(string) string
	Exists func(file string) bool
}

// in returns the folder that a variable names, else one of the home folder.
func (d Dirs) in(variable, folder string) string {
	if v := d.Getenv(variable); v != "" {
		return v
	}
	return filepath.Join(d.Home, folder)
}

// Weir is how a program reaches weir.
type Weir struct {
	URL   string // of the daemon, without a path
	Token string // made for the program
	// Model is what the program asks for as its model; empty: weir is no model of it.
	Model  string
	Window int  // of the model, in tokens; 0: unknown
	Images bool // the model reads pictures
}

func (w Weir) auth() map[string]any { return map[string]any{"Authorization": "Bearer " + w.Token} }

// Sets returns the values with which a program uses weir.
func (a Agent) Sets(w Weir) []Set { return a.sets(w) }

// Plain returns a program that gets one entry, and no more, in a JSON file.
func Plain(name, table string, entry any) Agent {
	return Agent{name, nil, tool.Textf("weir writes only its tools into the file of this program"),
		func(Weir) []Set { return []Set{own(table, entry)} }}
}

// TOML reports whether the program's file is TOML; else it is JSON with comments.
func (a Agent) TOML() bool { return a.Name == "codex" }

// Agents returns the known agents.
func Agents() []Agent {
	return []Agent{
		{"opencode", openCodeFile, tool.Text{}, openCode},
		{"qwen", func(d Dirs) string { return filepath.Join(d.in("QWEN_HOME", ".qwen"), "settings.json") }, tool.Text{}, qwen},
		{"codex", func(d Dirs) string { return filepath.Join(d.in("CODEX_HOME", ".codex"), "config.toml") },
			tool.Textf("Codex asks its model by OpenAI's Responses protocol, which weir does not speak yet"), codex},
		{"claude", func(d Dirs) string { return filepath.Join(d.in("CLAUDE_CONFIG_DIR", ""), ".claude.json") },
			tool.Textf("Claude Code asks its model by Anthropic's Messages protocol, which weir does not speak yet"), claude},
		{"gemini", func(d Dirs) string { return filepath.Join(d.in("GEMINI_CLI_HOME", ""), ".gemini", "settings.json") },
			tool.Textf("Gemini CLI asks its model by Gemini's own protocol, which weir does not speak"), gemini},
	}
}

// openCodeFile returns the file with comments if the user has that one.
func openCodeFile(d Dirs) string {
	file := filepath.Join(d.Config, "opencode", "opencode.json")
	if with := file + "c"; d.Exists(with) && !d.Exists(file) {
		return with
	}
	return file
}

// maxOutput is how many tokens of an answer opencode requests unless it is told otherwise.
const maxOutput = 32_000

func openCode(w Weir) []Set {
	out := []Set{own("mcp", map[string]any{"type": "remote", "url": w.URL + "/mcp", "headers": w.auth(), "oauth": false, "enabled": true})}
	if w.Model == "" {
		return out
	}
	model := map[string]any{"name": w.Model}
	if w.Window > 0 {
		model["limit"] = map[string]any{"context": w.Window, "output": min(maxOutput, w.Window/4)}
	}
	if w.Images {
		model["attachment"] = true
		model["modalities"] = map[string]any{"input": []string{"text", "image"}, "output": []string{"text"}}
	}
	return append(out,
		own("provider", map[string]any{
			"npm": "@ai-sdk/openai-compatible", "name": ServerName,
			"options": map[string]any{"baseURL": w.URL + "/v1", "apiKey": w.Token},
			"models":  map[string]any{w.Model: model},
		}),
		Set{Path: []string{"model"}, Value: ServerName + "/" + w.Model})
}

func qwen(w Weir) []Set {
	out := []Set{own("mcpServers", map[string]any{"httpUrl": w.URL + "/mcp", "headers": w.auth()})}
	if w.Model == "" {
		return out
	}
	set := func(v any, path ...string) { out = append(out, Set{Path: path, Value: v}) }
	set("openai", "security", "auth", "selectedType")
	set(w.Token, "security", "auth", "apiKey")
	set(w.URL+"/v1", "security", "auth", "baseUrl")
	set(w.Model, "model", "name")
	if w.Window > 0 {
		set(w.Window, "model", "generationConfig", "contextWindowSize")
	}
	if w.Images {
		set(true, "model", "generationConfig", "modalities", "image")
	}
	return out
}

func codex(w Weir) []Set {
	return []Set{own("mcp_servers", map[string]any{"url": w.URL + "/mcp", "http_headers": w.auth()})}
}

func claude(w Weir) []Set {
	return []Set{own("mcpServers", map[string]any{"type": "http", "url": w.URL + "/mcp", "headers": w.auth()})}
}

func gemini(w Weir) []Set {
	return []Set{own("mcpServers", map[string]any{"httpUrl": w.URL + "/mcp", "headers": w.auth()})}
}

// own sets the member weir of a table, which is weir's alone.
func own(table string, value any) Set {
	return Set{Path: []string{table, ServerName}, Value: value, Own: true}
}
