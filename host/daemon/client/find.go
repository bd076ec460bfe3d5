package client

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/weirhost/weir/sdk/tool"
)

// An Address is what a running daemon writes into its data folder, as JSON.
type Address struct {
	URL string `json:"url"`
	PID int    `json:"pid"`
	// Command is the command of weir that the process runs: serve, or mcp for a client.
	Command string `json:"command,omitempty"`
	// Config is the file of the daemon's configuration. Empty: it has none.
	Config string `json:"config,omitempty"`
	// Plugins is the folder of the flag --plugins. Empty: the configuration names the
	// folders.
	Plugins string `json:"plugins,omitempty"`
	// Workspace is the folder that tools see as /workspace.
	Workspace string `json:"workspace,omitempty"`
}

// Stopping says how a person stops the daemon, in the imperative.
func (a Address) Stopping() tool.Text {
	if a.Command == "mcp" {
		return tool.Textf("close the MCP client that started the daemon (weir mcp, process %d)", a.PID)
	}
	return tool.Textf("stop the daemon (weir %s, process %d) with `weir stop`", a.Command, a.PID)
}

// Files are the paths of the files in a data folder by which a daemon is found.
type Files struct {
	Address string // JSON, an Address
	Lock    string // locked while a daemon runs
	Token   string // the token of the operator
}

// healthTimeout bounds the question whether a daemon answers.
const healthTimeout = 2 * time.Second

// Find returns a client for the running daemon of a data folder and its address. It
// returns nil if no daemon runs there, or if one is only starting or stopping. An
// address whose file is not locked belongs to a daemon that was killed: Find does
// not send the token there, because another program may listen by now.
func Find(ctx context.Context, files Files) (*Client, Address) {
	raw, err := os.ReadFile(files.Address)
	if err != nil {
		return nil, Address{}
	}
	l := flock.New(files.Lock)
	if free, err := l.TryRLock(); err == nil && free {
		_ = l.Unlock()
		return nil, Address{}
	}
	var a Address
	token, err := os.ReadFile(files.Token)
	if err != nil || json.Unmarshal(raw, &a) != nil {
		return nil, Address{}
	}
	c := New(a.URL, strings.TrimSpace(string(token)))
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	if c.Get(ctx, "/healthz", nil) != nil {
		return nil, Address{}
	}
	return c, a
}
