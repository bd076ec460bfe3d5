package plugins

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/httpjson"
)

// What is kept of the log: lines of each plugin, bytes of each line, plugins.
const keptLines, keptBytes, keptPlugins = 100, 500, 500

// A Logbook keeps the last lines that the log has of each plugin, those that the plugin
// prints included. It is a sink of an hclog.InterceptLogger, safe for concurrent use.
// Its zero value is empty.
type Logbook struct {
	mu    sync.Mutex
	lines map[string][]api.LogLine // by plugin, the oldest first
}

// Accept implements hclog.SinkAdapter.
func (b *Logbook) Accept(name string, level hclog.Level, msg string, args ...any) {
	_, plugin, ok := strings.Cut(name, ".plugin.")
	if !ok {
		return
	}
	for i := 0; i+1 < len(args); i += 2 {
		msg += fmt.Sprintf(" %v=%v", args[i], args[i+1])
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lines == nil {
		b.lines = map[string][]api.LogLine{}
	}
	list := b.lines[plugin]
	if list == nil && len(b.lines) >= keptPlugins {
		return
	}
	if len(list) == keptLines {
		list = append([]api.LogLine(nil), list[1:]...)
	}
	b.lines[plugin] = append(list, api.LogLine{At: time.Now(), Level: level.String(), Text: strings.ToValidUTF8(msg[:min(len(msg), keptBytes)], "")})
}

// of returns the lines of a plugin.
func (b *Logbook) of(plugin string) []api.LogLine {
	if b == nil {
		return []api.LogLine{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]api.LogLine{}, b.lines[plugin]...)
}

func (p *Plugins) showLog(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	if _, err := p.Host.Review(r.Context(), name); err != nil {
		return err
	}
	return httpjson.Answer(w, api.PluginLog{Lines: p.Book.of(name)})
}
