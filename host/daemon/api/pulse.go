package api

// EventPulse is the one event of the stream of GET /api/pulse.
const EventPulse = "pulse"

// A Pulse is what a client that shows weir has to know of what changes: it asks for the
// rest again when a member differs from that of the Pulse before.
type Pulse struct {
	// Approvals are the ids of calls that wait for you, the oldest first.
	Approvals []string `json:"approvals"`
	// Answering are your conversations in which an answer is running, sorted.
	Answering []string `json:"answering"`
	// Tools changes with plugins, other servers and their tools, Configuration with models,
	// profiles, users and limits.
	Tools         string `json:"tools"`
	Configuration string `json:"configuration"`
	// Plugins are only there for the operator.
	Plugins  *PluginPulse `json:"plugins,omitempty"`
	Draining bool         `json:"draining"` // the daemon stops
}

// A PluginPulse names the plugins that a person has to look at, sorted, at most 256 of
// each kind.
type PluginPulse struct {
	Waiting     []string `json:"waiting"`
	Invalid     []string `json:"invalid"`
	Quarantined []string `json:"quarantined"`
}
