package setup

import (
	"github.com/weirhost/weir/host/daemon/telemetry"
	"github.com/weirhost/weir/host/script/offer"
)

// DefaultProfile is the profile of questions that name none.
const DefaultProfile = "default"

// A Config is what can change while the daemon serves.
type Config struct {
	// Models are the chat models by the operator's name.
	Models map[string]Model
	// Profiles are the agent profiles by name; "default" must be among them.
	Profiles map[string]Profile
	// Users are those who have a token of their own, by name; none may be called as
	// the operator is.
	Users map[string]User
	// Clients are the settings for client programs by their names; see Clients.Of.
	Clients Clients
	// Settings is what /api/settings shows; it must hold no secret.
	Settings any
	// MaxTurns bounds the turns at once; 0: 256; negative: no bound.
	MaxTurns int
	// Scripts are the settings of scripts.
	Scripts offer.Settings
	// Tracing says what spans are made; the zero value: none.
	Tracing telemetry.Tracing
}
