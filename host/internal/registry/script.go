package registry

import (
	"slices"
	"strings"

	"github.com/weirhost/weir/sdk/js"
)

// A plugin's module can be made of a script: the file is then JavaScript, and what
// is looked at, named by its sha256 and run is the module made of it. A weir with
// another JavaScript engine makes another module, which is for a person to approve
// again.

func isScript(path string) bool { return strings.HasSuffix(path, ".js") }

func (p *Plugin) isScript() bool { return isScript(p.WasmPath) }

// moduleOf returns the module that a file is, or that is made of it.
func (p *Plugin) moduleOf(file []byte) ([]byte, error) {
	if !p.isScript() {
		return file, nil
	}
	exports := p.Exports()
	slices.Sort(exports)
	return js.Module(file, slices.Compact(exports)...)
}

// indexKey is what the index knows the module by. What is made of a script hangs on
// the names of the tools, too.
func (p *Plugin) indexKey() string {
	if !p.isScript() {
		return p.WasmPath
	}
	return p.WasmPath + "#" + strings.Join(p.Exports(), ",")
}
