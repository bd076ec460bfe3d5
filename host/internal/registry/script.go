package registry

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/weirhost/weir/sdk/js"
)

// A plugin's file can be a JavaScript script. weir then builds a module from it,
// and checks, hashes and runs that module. A weir with another JavaScript engine
// builds a different module, which needs a new approval.

func isScript(path string) bool { return strings.HasSuffix(path, ".js") }

func (p *Plugin) isScript() bool { return isScript(p.WasmPath) }

// moduleOf returns the module in a file, or the one built from a script.
func (p *Plugin) moduleOf(file []byte) ([]byte, error) {
	if !p.isScript() {
		return file, nil
	}
	exports := p.Exports()
	slices.Sort(exports)
	return js.Module(filepath.Base(p.WasmPath), file, slices.Compact(exports)...)
}

// indexKey returns the module's key in the index. For a script it includes the
// exports, because the built module depends on them.
func (p *Plugin) indexKey() string {
	if !p.isScript() {
		return p.WasmPath
	}
	return p.WasmPath + "#" + strings.Join(p.Exports(), ",")
}
