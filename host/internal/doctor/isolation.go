package doctor

import (
	"context"
	"os"
	"path/filepath"
	"runtime"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/confine"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// probeModule is a guest whose export answer returns its input.
const probeModule = "\x00asm\x01\x00\x00\x00\x01\x0e\x03\x60\x00\x01\x7f\x60\x00\x01\x7e\x60\x02\x7e\x7e\x00" +
	"\x02\x5c\x03\x0fextism:host/env\x0cinput_offset\x00\x01\x0fextism:host/env\x0cinput_length\x00\x01\x0fextism:host/env\x0aoutput_set\x00\x02" +
	"\x03\x02\x01\x00\x07\x0a\x01\x06answer\x00\x03\x0a\x0c\x01\x0a\x00\x10\x00\x10\x01\x10\x02\x41\x00\x0b"

const probeManifest = "schema = 1\nname = \"probe\"\n[[tool]]\nname = \"probe\"\ndescription = \"hands its input back\"\nexport = \"answer\"\n"

// isolation runs a small plugin in the way that plugins are run here.
func (e *exam) isolation(ctx context.Context) {
	const area = "isolation"
	cfg := e.settings.Host(e.Paths, e.secrets, hclog.NewNullLogger(), e.Version)
	how := tool.Textf("in a process of its own")
	switch missing := config.NotIsolated(e.settings.Sandbox, cfg); {
	case !missing.IsZero() && runtime.GOOS == "linux":
		e.add(area, Warn, "mount /proc: mount -t proc proc /proc", "%s", missing)
		how = tool.Textf("inside this process")
	case !missing.IsZero():
		e.add(area, Note, "run weir on Linux to have plugins in processes of their own", "%s", missing)
		how = tool.Textf("inside this process")
	case cfg.Sandbox.Workers.Isolation == host.Inline:
		e.add(area, Note, "set isolation = \"process\" below [sandbox] if you do not trust every plugin", "plugins run inside weir's own process, as tools.toml says")
		how = tool.Textf("inside this process")
	}
	if err := probe(ctx, cfg); err != nil {
		e.add(area, Fail, "look for what keeps weir from starting processes: limits (ulimit -a), containers, seccomp; or set isolation = \"inline\" below [sandbox]", "a plugin cannot be run %s: %s", how, err)
		return
	}
	e.add(area, OK, "", "a plugin runs %s", how)
	if runtime.GOOS == "linux" && cfg.Sandbox.Workers.Isolation != host.Inline && len(cfg.WorkerCommand) > 0 {
		e.walls(confine.Offered())
	}
}

// walls says what is around a process in which a guest has left the engine.
func (e *exam) walls(w confine.Walls) {
	const area = "isolation"
	if w.Linked {
		e.add(area, Warn, "build it with CGO_ENABLED=0, as `make build` does", "this weir was built with cgo, and cannot wall its processes in: a plugin that breaks out of the engine can do what this user may")
		return
	}
	if w.Calls {
		e.add(area, OK, "", "that process is held to a list of system calls, and cannot reach the memory of weir")
	} else {
		e.add(area, Warn, "use a kernel with CONFIG_SECCOMP_FILTER, on amd64 or arm64, and allow seccomp in the container", "no list of system calls can hold that process: a plugin that breaks out of the engine can do what this user may")
	}
	switch {
	case w.Landlock == 0:
		e.add(area, Warn, "use Linux 5.13 or newer with landlock in the kernel's list of lsm=, and allow its system calls in the container", "this kernel has no Landlock: a plugin with a folder that breaks out of the engine can open other files of this user")
	default:
		e.add(area, OK, "", "Landlock, version %d, leaves it the granted folders", w.Landlock)
	}
	switch {
	case w.Nobody:
		e.add(area, OK, "", "weir is root: a process without folders becomes user 65534, and all give up the capabilities that they do not need")
	case w.Root:
		e.add(area, Warn, "run weir as an ordinary user, or give it CAP_SETUID, CAP_SETGID and CAP_KILL", "weir is root and may not become another user: the processes of plugins stay root, without capabilities")
	default:
		e.add(area, OK, "", "it has no capabilities")
	}
}

// probe opens a host with one plugin and calls it once.
func probe(ctx context.Context, cfg host.Config) error {
	dir, err := os.MkdirTemp("", "weir-doctor-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	plugins := filepath.Join(dir, "plugins", "probe")
	if err := os.MkdirAll(plugins, 0o700); err != nil {
		return err
	}
	for name, text := range map[string]string{"plugin.toml": probeManifest, "probe.wasm": probeModule} {
		if err := os.WriteFile(filepath.Join(plugins, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 2*checkTimeout)
	defer cancel()
	h, err := host.Open(ctx, host.Config{
		Settings: host.Settings{
			Folders: []plugin.Folder{{Path: filepath.Dir(plugins), Trust: plugin.TrustGranted}},
			Sandbox: host.Sandbox{Workers: host.Workers{Isolation: cfg.Sandbox.Workers.Isolation}, Engine: cfg.Sandbox.Engine},
		},
		WorkerCommand: cfg.WorkerCommand,
		CacheDir:      filepath.Join(dir, "cache"),
		Version:       cfg.Version,
	})
	if err != nil {
		return err
	}
	defer h.Close()
	r, err := h.Session("doctor", "doctor").Call(ctx, tool.Call{ID: "1", Tool: "probe", Args: []byte(`{}`)})
	if err == nil && r.Err != nil {
		err = r.Err
	}
	return err
}
