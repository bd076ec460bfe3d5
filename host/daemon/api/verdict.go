package api

import "time"

// A Verdict is the body of the routes that say something about a plugin.
type Verdict struct {
	// Digest is what was looked at; for rollback a part is enough, and empty
	// means the version before.
	Digest string `json:"digest"`
	// By is the way it is said: cli, page or api; empty: api.
	By string `json:"by"`
	// Grants are powers that the version asks for and is granted with its approval, both
	// or neither. They are added to tools.toml. Only an approval has them.
	Grants []PowerGrant `json:"grants,omitempty"`
	// Stop approves the version even if it lacks something and the tools that serve now
	// stop with that. Only an approval has it.
	Stop bool `json:"stop,omitempty"`
}

// A PluginLog is what GET /api/plugins/{name}/log answers.
type PluginLog struct {
	// Lines are the last 100 that the log of the daemon has of the plugin since it began,
	// the oldest first, each up to 500 bytes.
	Lines []LogLine `json:"lines"`
}

// A LogLine is a line of a log.
type LogLine struct {
	At    time.Time `json:"at"`
	Level string    `json:"level"` // trace, debug, info, warn or error
	Text  string    `json:"text"`
}

// A PowerGrant grants one ask of a plugin.
type PowerGrant struct {
	// Kind and What are those of the ask.
	Kind string `json:"kind"`
	What string `json:"what"`
	// Folder is the folder that a path shows: one in the workspace, relative to it or
	// absolute. Other kinds ignore it.
	Folder string `json:"folder,omitempty"`
	// Only is the part of an asked host that is granted, such as api.example.com of
	// *.example.com; empty: all of it. Other kinds ignore it.
	Only string `json:"only,omitempty"`
}
