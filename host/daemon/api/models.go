package api

import (
	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/sdk/tool"
)

// ConfiguredModels is what GET /api/models answers.
type ConfiguredModels struct {
	Models []ConfiguredModel `json:"models"`
}

// A ConfiguredModel is one chat model of tools.toml.
type ConfiguredModel struct {
	// Name is the operator's, Provider and Model are what is asked.
	Name      string `json:"name"`
	Provider  string `json:"provider"`
	Model     string `json:"model"`
	Window    int    `json:"window"` // tokens; 0: unknown
	Simulated bool   `json:"simulated"`
	Default   bool   `json:"default"` // the default profile asks it
}

// The events of the stream of POST /api/models/{name}/test: a step when it ends, then the
// whole test.
const (
	EventModelStep   = "model.step"
	EventModelTested = "model.tested"
)

// A ModelStep is one thing that a test of a model tried.
type ModelStep struct {
	// Name is describe, window, question, tools or prompt; configure: the model cannot be
	// used as it is configured.
	Name         string    `json:"name"`
	OK           bool      `json:"ok"`
	ElapsedMS    int64     `json:"elapsed_ms"`
	FirstTokenMS int64     `json:"first_token_ms,omitempty"`
	Code         string    `json:"code,omitempty"` // of the failure
	Message      tool.Text `json:"message,omitzero"`
	Hint         tool.Text `json:"hint,omitzero"`
}

// A ModelTested is the outcome of a test.
type ModelTested struct {
	Name     string      `json:"name"`
	OK       bool        `json:"ok"` // it can be used, with tools in one way or the other
	Provider string      `json:"provider"`
	Model    string      `json:"model"`
	Window   int         `json:"window"` // tokens; 0: unknown
	Steps    []ModelStep `json:"steps"`
	// NativeTools says whether the provider's own tool calling works; null: unknown.
	NativeTools *bool `json:"native_tools"`
	// Scripts says whether the model writes scripts that call tools; null: unknown.
	Scripts *bool       `json:"scripts"`
	Reply   string      `json:"reply"` // the beginning of the model's answer
	Usage   agent.Usage `json:"usage"`
}

// FoundModels are what weir could use and does not yet.
type FoundModels struct {
	Found []FoundModel `json:"found"`
}

// A FoundModel is a server on this machine that answers, or a key that is set.
type FoundModel struct {
	Preset  string `json:"preset"`
	Title   string `json:"title"`
	BaseURL string `json:"base_url"`
	// KeyEnv is the variable that holds a key; empty for servers on this machine.
	KeyEnv string `json:"key_env,omitempty"`
	// Models are the names that a server on this machine lists.
	Models []string `json:"models"`
	// Command is what to type to use it, with <model> in place of a name that is not known.
	Command string `json:"command"`
}

// A ModelAdd is the body of POST /api/models.
type ModelAdd struct {
	// Preset and BaseURL are those of one of GET /api/models/found: no other server is
	// ever written, so that a key goes to its own provider alone. An empty BaseURL is that
	// of the first one with this preset.
	Preset  string `json:"preset"`
	BaseURL string `json:"base_url,omitempty"`
	Model   string `json:"model"` // its name at the server
	// Name is how weir calls it; empty: the preset. No configured model may have it.
	Name string `json:"name,omitempty"`
	// Window is the size of the model's window in tokens; 0: the server is asked.
	Window int `json:"window,omitempty"`
	// Default makes it the model of the default profile.
	Default bool `json:"default,omitempty"`
	// DryRun only says what would change.
	DryRun bool `json:"dry_run,omitempty"`
}
