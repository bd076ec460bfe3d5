package app

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"runtime"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/client"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/doctor"
	"github.com/weirhost/weir/host/internal/mcpbridge"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/tool"
)

// Doctor implements machine.About. It asks the daemon over a connection in memory: its
// token goes nowhere else.
func (a *App) Doctor(ctx context.Context, l tool.Locale) api.HealthReport {
	own := client.InProcess(a.Daemon.Handler(), a.Token, nil)
	defer own.Close()
	own.SetLanguage(string(l))
	out := api.HealthReport{OK: true, Findings: []api.HealthFinding{}}
	for _, f := range doctor.Run(ctx, doctor.Checks{
		Source: a.options.Source, Paths: a.paths(), Version: a.options.Version, Daemon: own, At: a.address(), Model: ConnectModel,
	}) {
		out.OK = out.OK && f.Status != doctor.Fail
		out.Findings = append(out.Findings, api.HealthFinding{Area: f.Area, Status: string(f.Status), What: f.What, Fix: f.Fix})
	}
	return out
}

// ConnectModel connects to a model without a log.
func ConnectModel(name string, m config.ModelSettings, secrets config.Lookup) (agent.Model, error) {
	model := NewModel(name, m, secrets, hclog.NewNullLogger()).Model
	return model, Unusable(model)
}

// address returns the address of the daemon, as it was announced.
func (a *App) address() client.Address {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.addressAt()
}

// hiddenToken is in place of the token.
const hiddenToken = "TOKEN"

// MCPConfigs implements machine.About.
func (a *App) MCPConfigs(withToken bool) (api.MCPConfigs, error) {
	source, at := a.options.Source, a.address()
	here, err := os.Getwd()
	if err != nil {
		return api.MCPConfigs{}, msg.Errorf("the current folder cannot be read: %w", err)
	}
	dirs, known := mcpbridge.DirsOf(source.Getenv, runtime.GOOS, cmp.Or(at.Workspace, here))
	token, data := hiddenToken, ""
	if withToken {
		token = a.Token
	}
	if source.Data != "" {
		data = a.Paths.Data
	}
	address := cmp.Or(strings.TrimPrefix(at.URL, "http://"), a.Settings.Server.Addr)
	out := api.MCPConfigs{URL: "http://" + address + "/mcp", Clients: []api.MCPConfig{}}
	for _, m := range mcpbridge.Clients() {
		one := api.MCPConfig{Client: m.Name, Command: "weir mcp install " + m.InstallName(), After: m.After, HTTP: json.RawMessage("null")}
		if known {
			one.File = m.File(dirs)
		}
		e, err := m.StdioEntry([][2]string{{"--config", at.Config}, {"--data", data}, {"--plugins", source.Plugins}, {"--workspace", dirs.Workspace}})
		if err == nil {
			one.Stdio, err = json.Marshal(m.Document(e))
		}
		if err == nil && m.HTTP {
			one.HTTP, err = json.Marshal(m.Document(m.HTTPEntry(address, token)))
		}
		if err != nil {
			return api.MCPConfigs{}, err
		}
		out.Clients = append(out.Clients, one)
	}
	return out, nil
}
