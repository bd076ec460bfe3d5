package app

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/provider"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/sdk/tool"
)

// probeTimeout bounds the question that finds out about native tool calling.
const probeTimeout = 30 * time.Second

// A nativeCache stores in the data folder for which models native tool calling
// works. Each model is asked once; a lost or damaged file costs one question for
// each model.
type nativeCache struct {
	file string
	mu   sync.Mutex
}

// newNativeCache returns the cache of a data folder.
func newNativeCache(p config.Paths) *nativeCache {
	return &nativeCache{file: filepath.Join(p.Data, "native.json")}
}

// probe returns the question for one model. The answer is the stored one, else what
// the model's server says about it, else the result of a try. known is false if the
// model could not be asked.
func (n *nativeCache) probe(m agent.Model, s config.ModelSettings) func(context.Context) (works, known bool) {
	key := s.Provider + " " + s.BaseURL + " " + s.Model
	return func(ctx context.Context) (works, known bool) {
		n.mu.Lock() // during the question too: two first questions then try once
		defer n.mu.Unlock()
		found := n.read()
		if works, known = found[key]; known {
			return works, true
		}
		ctx, cancel := context.WithTimeout(ctx, probeTimeout)
		defer cancel()
		if d, ok := m.(agent.Describer); ok {
			if info, err := d.Describe(ctx); err == nil && info.NativeTools != nil {
				return *info.NativeTools, true
			}
		}
		if works, known = provider.Native(ctx, m, tool.En); known {
			found[key] = works
			n.write(found)
		}
		return works, known
	}
}

func (n *nativeCache) read() map[string]bool {
	found := map[string]bool{}
	if raw, err := os.ReadFile(n.file); err == nil && json.Unmarshal(raw, &found) != nil {
		return map[string]bool{}
	}
	return found
}

func (n *nativeCache) write(found map[string]bool) {
	raw, err := json.MarshalIndent(found, "", "  ")
	if err == nil && os.MkdirAll(filepath.Dir(n.file), 0o700) == nil {
		_ = os.WriteFile(n.file, raw, 0o600) // only a cache
	}
}
