package offer

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/weirhost/weir/host/internal/config/value"
	"github.com/weirhost/weir/host/internal/scriptvm"
	"github.com/weirhost/weir/host/script"
	"github.com/weirhost/weir/sdk/tool"
)

// An Offering says whom run_script is offered.
type Offering string

// The Offerings. Auto is Always for MCP clients, and for models that have been seen to
// write scripts.
const (
	Auto   Offering = "auto"
	Always Offering = "always"
	Never  Offering = "never"
)

// Settings are [scripts] of tools.toml. A zero value means that the key is not written.
type Settings struct {
	Offer Offering `toml:"offer" json:"offer,omitempty"`
	// Folder has the scripts of Tools. Empty: the folder scripts beside tools.toml.
	Folder string `toml:"folder" json:"folder,omitempty"`
	// Tools are the scripts that are tools of their own, by name, with the digests of the
	// files that a person has granted.
	Tools    map[string]string `toml:"tools" json:"tools,omitempty"`
	Calls    int               `toml:"calls" json:"calls,omitempty"`
	Parallel int               `toml:"parallel_calls" json:"parallel_calls,omitempty"`
	Scripts  int               `toml:"at_once" json:"at_once,omitempty"`
	Memory   tool.Bytes        `toml:"memory" json:"memory,omitempty"`
	CPU      value.Duration    `toml:"cpu_time" json:"cpu_time,omitempty"`
	Time     value.Duration    `toml:"run_time" json:"run_time,omitempty"`
	Patience value.Duration    `toml:"patience" json:"patience,omitempty"`
}

// WithDefaults returns the settings that apply.
func (s Settings) WithDefaults() Settings {
	s.Offer = cmp.Or(s.Offer, Auto)
	s.Calls = cmp.Or(s.Calls, script.DefaultCalls)
	s.Parallel = cmp.Or(s.Parallel, script.DefaultParallel)
	s.Scripts = cmp.Or(s.Scripts, script.DefaultScripts)
	s.Memory = cmp.Or(s.Memory, scriptvm.DefaultMemory)
	s.CPU = cmp.Or(s.CPU, value.Duration(scriptvm.DefaultTime))
	s.Time = cmp.Or(s.Time, value.Duration(script.DefaultTime))
	s.Patience = cmp.Or(s.Patience, value.Duration(script.DefaultPatience))
	return s
}

// The least and the most memory of a script.
const leastMemory, mostMemory = 8 << 20, 1 << 30

// Check reports what cannot be meant.
func (s Settings) Check(bad func(problem, fix tool.Text, key ...string)) {
	if o := string(s.Offer); o != "" && !strings.Contains(o, "${") && !slices.Contains([]Offering{Auto, Always, Never}, s.Offer) {
		bad(tool.Textf("%s is %q", "scripts.offer", o), tool.Textf("use one of: %s", "auto, always, never"), "scripts", "offer")
	}
	if s.Memory != 0 && (s.Memory < leastMemory || s.Memory > mostMemory) {
		bad(tool.Textf("memory is %s", s.Memory), tool.Textf("write %s to %s", tool.Bytes(leastMemory), tool.Bytes(mostMemory)), "scripts", "memory")
	}
}

// Options returns the bounds of a script.
func (s Settings) Options() script.Options {
	return script.Options{Calls: s.Calls, Parallel: s.Parallel, Scripts: s.Scripts, Time: time.Duration(s.Time), Patience: time.Duration(s.Patience)}
}

// Engine returns the bounds of the engine. cache is as in scriptvm.Options.
func (s Settings) Engine(cache string) scriptvm.Options {
	return scriptvm.Options{Memory: int(s.Memory), Time: time.Duration(s.CPU), CacheDir: cache}
}
