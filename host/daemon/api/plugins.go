package api

import (
	"github.com/weirhost/weir/host/internal/changes"
	"github.com/weirhost/weir/host/plugin"
)

// A PluginList is what GET /api/plugins answers.
type PluginList struct {
	Plugins []plugin.Info `json:"plugins"`
}

// Reloaded is what a reload made different, and the plugins as they are now.
type Reloaded struct {
	Change  changes.Change `json:"change"`
	Plugins []plugin.Info  `json:"plugins"`
}

// Retried is what became of a plugin that was in quarantine.
type Retried struct {
	Plugin string       `json:"plugin"`
	State  plugin.State `json:"state"`
}
