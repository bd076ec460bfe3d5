package worker

import (
	"github.com/weirhost/weir/host/internal/confine"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/tool"
)

// The small parts of frames, as JSON. Those of calls and results are in packed.go.
type (
	loadMeta struct {
		Plugin string // its name, for errors
		Engine string // of the sandbox
		// Exports are the functions to call; Memory caps each linear
		// memory in bytes.
		Exports []string
		Memory  int64
		Image   int64  // bytes of the largest memory that is renewed; 0: none is
		Cache   string // folder of compiled code
		// CacheVersion is the parent's, as in sandbox.Config.
		CacheVersion string
		// Compile makes the child compile the module into the cache and exit; Checked
		// adds loop checks to the code.
		Compile, Checked bool
		Task             Task // it is a Helper, and loads nothing; empty: it runs a module
		Renewed, Spares  int  // instances
		LogLevel         int
		Mounts           []mountMeta // in the order of the inherited descriptors
		Bounds           confine.Bounds
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
		Refused     msg.Wire // why the module was not loaded; zero: it was
		NotCompiled bool     // the cache does not hold it
	}
	threadMeta struct {
		ID int // of the thread that runs the guest from now on
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
		Method, URL    string
		Headers        map[string]string
		TimeoutSeconds int
	}
)
