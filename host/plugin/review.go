package plugin

import "github.com/weirhost/weir/sdk/tool"

// A Review is what a person reads before approving or rolling back a plugin.
type Review struct {
	Plugin Info `json:"plugin"`
	// Serving is the approved version. Its tools are callable if the State allows
	// it. It is nil when none is approved.
	Serving *Version `json:"serving,omitempty"`
	// Pending is the version that Approve would approve; nil if there is none.
	Pending *Version `json:"waiting,omitempty"`
	// Changes lists how Pending differs from Serving. It is empty when one of them
	// is nil.
	Changes []Difference `json:"changes,omitempty"`
	// History lists the approved versions, the newest first.
	History []ApprovedVersion `json:"history,omitempty"`
}

// A Version is one set of a plugin's bytes, and what they declare.
type Version struct {
	Version        string `json:"version,omitempty"`
	Digest         string `json:"digest"`
	WasmSHA256     string `json:"wasm_sha256"`
	WasmBytes      int    `json:"wasm_bytes"`
	ManifestSHA256 string `json:"manifest_sha256"`
	Source         string `json:"source"`
	File           string `json:"file"` // the module that is loaded
	Asks           []Ask  `json:"asks,omitempty"`
	// SuggestedEdits lists what [grants.<name>] of tools.toml lacks, by key.
	SuggestedEdits map[string][]string `json:"add,omitempty"`
	// Missing says what it lacks to run; empty: nothing.
	Missing []tool.Text `json:"missing,omitempty"`
	Tools   []ToolInfo  `json:"tools,omitempty"`
	// Settings are those that [config] of the manifest declares, in its order.
	Settings []Difference `json:"settings,omitempty"`
}

// A Difference is one difference between two versions. Was is empty for what is
// new, Is for what was removed.
type Difference struct {
	// Kind is version, source, module, script, manifest, description, power,
	// setting, tool, schema, limits, conduct or examples.
	Kind string `json:"kind"`
	// Name is that of the permission, the setting or the tool.
	Name   string    `json:"name,omitempty"`
	Was    tool.Text `json:"was,omitzero"`
	Is     tool.Text `json:"is,omitzero"`
	Reason tool.Text `json:"reason,omitzero"`
	// Exceeds marks a permission that the earlier version did not ask for.
	Exceeds bool `json:"wider,omitempty"`
	// Lines are the lines that differ in a script, in place of Was and Is, as a unified
	// diff without the lines around them: at most 64 KiB, and none of scripts of more than
	// 100,000 lines. MoreLines is how many lines are left out.
	Lines     string `json:"lines,omitempty"`
	MoreLines int    `json:"more_lines,omitempty"`
}

// An ApprovedVersion is one entry of a plugin's history.
type ApprovedVersion struct {
	Approval
	Version string `json:"version,omitempty"`
	Digest  string `json:"digest"`
	Source  string `json:"source"`
	// Powers are the permissions it asked for when it was approved, each with
	// whether it was granted then.
	Powers []Ask `json:"powers,omitempty"`
	// Current reports whether this version is the approved one now.
	Current bool `json:"current,omitempty"`
	// HasCopy reports whether its copy still exists, so that Rollback can use it.
	HasCopy bool `json:"kept"`
}

// A Removal lists what Remove deleted.
type Removal struct {
	Files []string `json:"removed"`
	// Link reports whether the plugin's folder was a symbolic link. Only the link
	// was deleted then, not what it points to.
	Link bool `json:"link,omitempty"`
}
