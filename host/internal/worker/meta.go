package worker

import "github.com/weirhost/weir/sdk/tool"

// The small parts of frames, as JSON. Those of calls and results are in packed.go.
type (
	loadMeta struct {
		Plugin string // its name, for errors
		Engine string // of the sandbox
		// Exports are the functions to call; Memory caps each linear
		// memory in bytes.
		Exports []string
		Memory  int64
		Cache   string // folder of compiled code
		// CacheVersion is the parent's, as in sandbox.Config.
		CacheVersion string
		// Compile makes the child compile the module into the cache and exit; Checked
		// adds loop checks to the code.
		Compile, Checked bool
		Renewed, Spares  int // instances
		LogLevel         int
		Mounts           []mountMeta // in the order of the inherited descriptors
		Bounds           bounds
	}
	mountMeta struct {
		Guest, Host string
		Write       bool
		Hide, Keep  []string
	}
	responseMeta struct {
		Status  int
		URL     string
		Headers map[string]string
		Error   *tool.Error
	}
	readyMeta struct {
		Refused     textMeta // why the module was not loaded; zero: it was
		NotCompiled bool     // the cache does not hold it
	}
	progressMeta struct {
		Done, Total int
		Message     string
	}
	logMeta struct {
		Level   int
		Message string
		Args    []string // keys and values
	}
	requestMeta struct {
		Method, URL string
		Headers     map[string]string
	}
)

// bounds are the limits that the kernel enforces for a child.
type bounds struct {
	Data  int64 // bytes of writable memory of its own; 0: none
	CPU   int64 // seconds of CPU time; 0: none
	Files int64 // open descriptors; 0: none
}
