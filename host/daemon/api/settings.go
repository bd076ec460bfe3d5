package api

import (
	"encoding/json"

	"github.com/weirhost/weir/host/internal/changes"
	"github.com/weirhost/weir/sdk/tool"
)

// A SettingsPatch is the body of PATCH /api/settings.
type SettingsPatch struct {
	Changes []SettingChange `json:"changes"`
	// DryRun only says what would change.
	DryRun bool `json:"dry_run,omitempty"`
}

// A SettingChange writes one key of tools.toml.
type SettingChange struct {
	// Key is the path of tables with the key at its end, such as ["tools", "grep_search",
	// "max_chars"].
	Key []string `json:"key"`
	// Value is a text, number, boolean or list of texts; null: the key is removed and stays
	// as a comment.
	Value json.RawMessage `json:"value"`
}

// SettingsPatched says what a patch changes.
type SettingsPatched struct {
	File string `json:"file"`
	// ETag is that of the settings afterwards, for the next If-Match.
	ETag string `json:"etag"`
	// Diff are the lines that change, as diff -U0 writes them; empty: none.
	Diff    string `json:"diff"`
	Written bool   `json:"written"` // false: a dry run, or nothing changes
	// InForce names the keys that apply now, Restart those that apply after a restart.
	InForce []string `json:"in_force"`
	Restart []string `json:"restart"`
	// Change lists the changes of plugins, Notes say what else a person has to do.
	Change changes.Change `json:"change"`
	Notes  []tool.Text    `json:"notes"`
}

// A SettingsSchema lists the keys of tools.toml that PATCH /api/settings writes.
type SettingsSchema struct {
	File string       `json:"file"`
	Keys []SettingKey `json:"keys"`
}

// A SettingKey is one key, or all keys of that name in tables whose name the operator
// chooses: there the path has a *.
type SettingKey struct {
	Key     []string  `json:"key"`
	Type    string    `json:"type"` // boolean, integer, number, string, list, string or list
	Unit    string    `json:"unit,omitempty"`
	Meaning tool.Text `json:"meaning"`
	// Default is the value where the key is not written; null: it depends, Meaning says on
	// what.
	Default any `json:"default"`
	// Restart says that a change applies after a restart.
	Restart bool `json:"restart"`
	// Written are the places where the file has the key.
	Written []WrittenSetting `json:"written"`
}

// A WrittenSetting is a key in the file.
type WrittenSetting struct {
	Key   []string `json:"key"`
	Value any      `json:"value"` // as it is written
	Line  int      `json:"line"`  // from 1
	// Variable is the variable of the environment that the value refers to.
	Variable string `json:"variable,omitempty"`
}
