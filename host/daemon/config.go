package daemon

import (
	"context"
	"io/fs"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/machine"
	"github.com/weirhost/weir/host/daemon/mcpserver"
	"github.com/weirhost/weir/host/daemon/models"
	"github.com/weirhost/weir/host/daemon/plugins"
	"github.com/weirhost/weir/host/daemon/settings"
	"github.com/weirhost/weir/host/daemon/setup"
	"github.com/weirhost/weir/host/daemon/telemetry"
	"github.com/weirhost/weir/host/daemon/usage"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/host/script"
	"github.com/weirhost/weir/host/script/offer"
)

// DemoModel is the name of the offline demo model, which is not an AI.
const DemoModel = "demo"

// Config is everything a Daemon is made from. The caller keeps the Host and
// closes it after the Daemon.
type Config struct {
	Host *host.Host
	// Models are the chat models by the operator's name.
	Models map[string]Model
	// Profiles are the agent profiles by name; "default" must be among them.
	Profiles map[string]Profile
	// Users are those who have a token of their own, by name; none may be called as
	// Principal is.
	Users map[string]User
	// Clients are the settings for client programs by their names.
	Clients map[string]Client
	// Token opens the data routes. An empty one opens nothing.
	Token string
	// Hosts are further names, without port, by which the daemon may be
	// reached beside localhost and the loopback addresses.
	Hosts []string
	// Principal is the name of the operator, whose token Token is; empty: "local".
	Principal string
	// Pages are the page's static files; nil: no page.
	Pages fs.FS
	// Settings is what /api/settings shows; it must hold no secret.
	Settings any
	// Reload reads the whole configuration again and applies it; it may call
	// Configure. nil: a reload reads the plugin folders and the grants alone.
	Reload func(context.Context) (ReloadReport, error)
	// Stop ends the process as a signal would, and returns at once. Nil: what started
	// the daemon ends it.
	Stop func()
	// HandOver has the process leave the data folder to another daemon, soon after it returns.
	// An error says why the process does not. Nil: it never does.
	HandOver func(to api.HandOver) error
	// Book is a sink of the log, which the page shows of each plugin; nil: it shows nothing.
	Book *plugins.Logbook
	// Grant adds to the grants of a plugin in the configuration, with folders in the
	// workspace only, and returns what takes that back. Nil: no approval grants anything.
	Grant func(name string, add plugin.Grant) (undo func() error, err error)
	// Grants reads the plugins' grants again, before each approval of a plugin and each
	// reload that a person requests. nil: the Host's grants stay unchanged.
	Grants func() (map[string]plugin.Grant, error)
	// About knows the machine. Nil: nothing is known of it.
	About machine.About
	// FindModels looks for models that could be configured. Nil: none is found.
	FindModels models.Finder
	// TestModel tests a model. Nil: provider.Test.
	TestModel models.Tester
	// AddModel adds a model to the configuration file. Nil: none can be added.
	AddModel models.Adder
	// Edit changes the configuration file. Nil: there is none that can be changed.
	Edit settings.Editor
	// Scripts returns what runs scripts; it opens the engine when it is first called. Nil:
	// no scripts are run.
	Scripts func(context.Context) (*script.Runner, error)
	// ScriptSettings are the settings of scripts.
	ScriptSettings offer.Settings
	// ResumeGrace is how long a turn goes on whose client has gone, if it said that
	// it comes back; 0: resume.DefaultGrace; negative: every turn ends with its
	// client.
	ResumeGrace time.Duration
	// MCP says what clients of that protocol get.
	MCP MCP
	// MaxTurns bounds the turns at once; 0: 256; negative: no bound.
	MaxTurns int
	// Lease is a file that only processes use of which one at a time runs; see lease.Config.
	// Empty: there is none.
	Lease string
	// Tracing says what spans are made; the zero value: none.
	Tracing telemetry.Tracing
	Version string
	Logger  hclog.Logger     // nil: silent
	Now     func() time.Time // nil: time.Now
}

// What of a Config can change while the Daemon serves.
type (
	Setup   = setup.Config
	Model   = setup.Model
	Profile = setup.Profile
	User    = setup.User
	Client  = setup.Client
	// A Listing says which tools the list of MCP clients has.
	Listing = mcpserver.Listing
	// A Quota bounds what one user uses.
	Quota = usage.Quota
)

// The values of Client.Structured.
const (
	StructuredWhole = setup.StructuredWhole
	StructuredShort = setup.StructuredShort
)

// CheckUserName returns an error if no user can have the name.
func CheckUserName(name string) error { return setup.CheckUserName(name) }

// CheckClientName returns an error if no client can have the name.
func CheckClientName(name string) error { return setup.CheckClientName(name) }
