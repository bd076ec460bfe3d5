package api

import (
	"encoding/json"
	"time"

	"github.com/weirhost/weir/sdk/tool"
)

// A HealthReport is what GET /api/doctor answers: what `weir doctor` finds.
type HealthReport struct {
	OK       bool            `json:"ok"` // no check failed
	Findings []HealthFinding `json:"findings"`
}

// A HealthFinding is the result of one check.
type HealthFinding struct {
	Area   string    `json:"area"`
	Status string    `json:"status"` // ok, note, warn or fail
	What   tool.Text `json:"what"`
	Fix    tool.Text `json:"fix,omitzero"` // absent: there is nothing to do
}

// MCPConfigs says how MCP clients on this machine reach weir.
type MCPConfigs struct {
	URL     string      `json:"url"` // of the daemon's MCP server
	Clients []MCPConfig `json:"clients"`
}

// An MCPConfig is what one client's own configuration file has to have.
type MCPConfig struct {
	Client string `json:"client"`
	File   string `json:"file"` // where the client looks; empty: unknown
	// Stdio lets the client start weir; HTTP lets it reach this daemon, null if the client
	// cannot. The token in HTTP is the word TOKEN, unless it was requested.
	Stdio json.RawMessage `json:"stdio"`
	HTTP  json.RawMessage `json:"http"`
	// Command writes Stdio into the file.
	Command string    `json:"command"`
	After   tool.Text `json:"after"` // what to do when the file has changed
}

// MCPClients are the MCP clients that are connected, the last used first.
type MCPClients struct {
	Clients []MCPClient `json:"clients"`
}

// An MCPClient is one with an open session.
type MCPClient struct {
	Principal string `json:"principal"`
	Name      string `json:"name"` // as it calls itself
	Version   string `json:"version"`
	// Transport is stdio (`weir mcp`) or http.
	Transport string    `json:"transport"`
	Began     time.Time `json:"began_at"`
	Last      time.Time `json:"last_at"` // its last request
}
