package config

import (
	"os"
	"time"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/sdk/tool"
)

// Isolate configures worker processes for plugins on systems that can limit them.
func Isolate(cfg *host.Config, s SandboxSettings, p Paths) {
	cfg.Sandbox.Workers = host.Workers{
		Isolation: host.Isolation(s.Isolation), Inline: s.Inline, Max: s.Waiting, Idle: time.Duration(s.Idle),
		Headroom: s.Headroom, CompileCPU: time.Duration(s.CompileCPU), CompileMemory: s.CompileMemory,
		Quarantine: p.Quarantine(),
	}
	cfg.WorkerCommand = WorkerCommand()
}

// WorkerCommand returns what starts this program again as a worker; nil: this system has
// no workers. The name stays valid when the file of the program is replaced.
func WorkerCommand() []string {
	const self = "/proc/self/exe"
	if _, err := os.Stat(self); err != nil || !host.CanIsolate() {
		return nil
	}
	return []string{self}
}

// NotIsolated returns a warning if plugins run inside weir although the settings do
// not say so; zero: there is nothing to warn of.
func NotIsolated(s SandboxSettings, cfg host.Config) tool.Text {
	if len(cfg.WorkerCommand) > 0 || host.Isolation(s.Isolation) == host.Inline {
		return tool.Text{}
	}
	return tool.Textf("plugins run inside this process: processes of their own need Linux and /proc; set isolation = \"inline\" below [sandbox] if this is intended")
}
