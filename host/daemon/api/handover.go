package api

// A HandOver describes the daemon that wants a data folder: as the address file of a running
// one does. Empty fields: it has none.
type HandOver struct {
	Config    string `json:"config,omitempty"`
	Plugins   string `json:"plugins,omitempty"`
	Workspace string `json:"workspace,omitempty"`
}
