package app

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"

	"github.com/weirhost/weir/agent/model/provider"
	"github.com/weirhost/weir/host/internal/config"
)

// Verdicts are what was seen of models, in a file of the data folder: for each, whether it
// can do one thing. A lost or damaged file costs another look at each model. It is safe
// for concurrent use, and for several processes that read.
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
	works, known = v.read()[key]
	return works, known
}

func (v *verdicts) store(key string, works bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	found := v.read()
	found[key] = works
	v.write(found)
}

func (v *verdicts) read() map[string]bool {
	found := map[string]bool{}
	if raw, err := os.ReadFile(v.file); err == nil && json.Unmarshal(raw, &found) != nil {
		return map[string]bool{}
	}
	return found
}

func (v *verdicts) write(found map[string]bool) {
	raw, err := json.MarshalIndent(found, "", "  ")
	if err == nil && os.MkdirAll(filepath.Dir(v.file), 0o700) == nil {
		_ = os.WriteFile(v.file, raw, 0o600) // only a cache
	}
}
