package app

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/weirhost/weir/agent/model/provider"
	"github.com/weirhost/weir/host/internal/config"
)

// noKept is how long a model that was seen not to do something is taken not to: servers
// are set up anew, and a look may have been an unlucky one.
const noKept = 7 * 24 * time.Hour

// Verdicts are what was seen of models, in a file of the data folder: for each, true if it
// can do one thing, else when it was seen not to. A lost or damaged file costs another look
// at each model. It is safe for concurrent use, and for several processes that read.
type verdicts struct {
	file string
	mu   sync.Mutex // of the file
}

func newVerdicts(p config.Paths, name string) *verdicts {
	return &verdicts{file: filepath.Join(p.Data, name)}
}

// scriptVerdicts say which models have been seen to write scripts.
func scriptVerdicts(p config.Paths) *verdicts { return newVerdicts(p, "scripts.json") }

// verdictKey names a model in the file, whatever the operator calls it.
func verdictKey(s config.ModelSettings) string { return s.Provider + " " + s.BaseURL + " " + s.Model }

// KeepTested stores what a test has seen of a model, for later questions to it. The
// settings are the model's.
func KeepTested(p config.Paths, s config.ModelSettings, r provider.Report) {
	if r.Scripts != nil {
		scriptVerdicts(p).store(verdictKey(s), *r.Scripts)
	}
}

func (v *verdicts) find(key string) (works, known bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch seen := v.read()[key].(type) {
	case bool:
		return seen, seen // false is of a version that did not say when
	case string:
		at, err := time.Parse(time.RFC3339, seen)
		age := time.Since(at)
		return false, err == nil && age > -time.Minute && age < noKept
	}
	return false, false
}

func (v *verdicts) store(key string, works bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	found := v.read()
	if found[key] = time.Now().UTC().Format(time.RFC3339); works {
		found[key] = true
	}
	v.write(found)
}

func (v *verdicts) read() map[string]any {
	found := map[string]any{}
	if raw, err := os.ReadFile(v.file); err == nil && json.Unmarshal(raw, &found) != nil || found == nil {
		return map[string]any{}
	}
	return found
}

func (v *verdicts) write(found map[string]any) {
	raw, err := json.MarshalIndent(found, "", "  ")
	if err == nil && os.MkdirAll(filepath.Dir(v.file), 0o700) == nil {
		_ = os.WriteFile(v.file, raw, 0o600) // only a cache
	}
}
