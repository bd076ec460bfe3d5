package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/provider"
	"github.com/weirhost/weir/sdk/tool"
)

// probeTime bounds the question that finds out about native tool calling.
const probeTime = 30 * time.Second

// A nativeCache keeps in the data folder which models' own tool calling was
// found to work, so that each is asked once. A lost or damaged file costs one
// question a model.
type nativeCache struct {
	file string
	mu   sync.Mutex
}

// probe returns the question for one model: what it says of itself, else what
// was found out earlier, else a try. known is false when it could not be asked.
func (n *nativeCache) probe(m agent.Model, s ModelSettings) func(context.Context) (works, known bool) {
	key := s.Provider + " " + s.BaseURL + " " + s.Model
	return func(ctx context.Context) (works, known bool) {
		n.mu.Lock() // also so that two first questions try once
		defer n.mu.Unlock()
		found := n.read()
		if works, known = found[key]; known {
			return works, true
		}
		ctx, cancel := context.WithTimeout(ctx, probeTime)
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
