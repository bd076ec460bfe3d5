package config

import (
	"os"
	"time"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/sdk/tool"
)

// Isolate says how this program runs plugins: in processes of their own, where
// the system can hold them to their bounds. A process is this program again, by
// the name that stays true when the file is replaced while it runs.
func Isolate(cfg *host.Config, s SandboxSettings, p Paths) {
	cfg.Workers = host.Workers{
		Isolation: host.Isolation(s.Isolation), Inline: s.Inline, Max: s.Waiting, Idle: time.Duration(s.Idle),
		Headroom: s.Headroom, CompileCPU: time.Duration(s.CompileCPU), CompileMemory: s.CompileMemory,
		Quarantine: p.Quarantine(),
	}
	const self = "/proc/self/exe"
	if _, err := os.Stat(self); err == nil && host.CanIsolate() {
		cfg.WorkerCommand = []string{self}
	}
}

// NotIsolated is what a person should know when plugins run inside weir although
// nobody asked for it; empty: nothing.
func NotIsolated(s SandboxSettings, cfg host.Config) tool.Text {
	if len(cfg.WorkerCommand) > 0 || host.Isolation(s.Isolation) == host.Inline {
		return tool.Text{}
	}
	return tool.Textf("plugins run inside this process: processes of their own need Linux and /proc; set isolation = \"inline\" below [sandbox] if this is intended")
}
