package registry

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weirhost/weir/sdk/js"
	"github.com/weirhost/weir/sdk/tool"
)

// A plugin's file can be a script: weir builds a module of it, and checks, hashes and runs that. Another
// JavaScript engine makes another module, which needs a new approval. It is asked for what it has first.

func isScript(path string) bool { return strings.HasSuffix(path, ".js") }

// moduleOf returns the module in a file, or the one built from a script.
func (p *Plugin) moduleOf(file []byte) ([]byte, error) {
	if !p.IsScript() {
		return file, nil
	}
	return js.Module(filepath.Base(p.WasmPath), file, slices.Compact(slices.Sorted(slices.Values(p.Exports())))...)
}

// report returns the problems that a script's own report names, of its top level's run.
func (p *Plugin) report(d Description) (out []Problem) {
	var r js.Report
	if d.Err == nil {
		d.Err = json.Unmarshal(d.Answer, &r)
	}
	at := p.WasmPath
	if r.File != filepath.Base(at) && len(r.File) <= maxSaid && filepath.IsLocal(r.File) { // a source that the script was built of
		at = filepath.Join(filepath.Dir(p.Source), r.File)
	}
	switch {
	case d.Err != nil:
		return []Problem{{File: p.WasmPath, Msg: tool.Textf("the top level of the script cannot run: %s", d.Err), Fix: tool.Textf("do less there: the tool's function can do it in a call")}}
	case r.Error != "":
		return []Problem{{File: at, Line: max(0, r.Line), Col: max(0, r.Column), Msg: tool.Textf("%s", r.Error), Fix: importFix(r.Error)}}
	}
	for _, t := range p.Manifest.Tools {
		if !slices.Contains(r.Exports, t.Export) {
			out = append(out, Problem{File: p.WasmPath, Key: "tool.export", Msg: tool.Textf("the script exports no function %q, which the tool %s runs", t.Export, t.Spec.Name), Fix: exportFix(r.Exports, false)})
		}
	}
	return out
}

// importFix returns the fix of an import at the top of a script; zero: the error is another.
func importFix(said string) tool.Text {
	if !strings.Contains(said, "could not load module") {
		return tool.Text{}
	}
	return tool.Textf("a script is one file and has no modules of Node.js; `weir plugin new NAME --lang ts` makes a tool whose build puts other files and npm packages into it")
}

// IsScript reports whether the module is made of a script.
func (p *Plugin) IsScript() bool { return isScript(p.WasmPath) }

// CheckScript asks a script's module what it has, and returns the problems of that.
func (p *Plugin) CheckScript(ctx context.Context, describe Describer) []Problem {
	problems := p.report(describe(ctx, []*Plugin{p})[0])
	for i := range problems {
		problems[i] = problems[i].sanitize()
	}
	return problems
}

// indexKey returns the module's key in the index. For a script it includes the
// exports, because the built module depends on them.
func (p *Plugin) indexKey() string {
	if !p.IsScript() {
		return p.WasmPath
	}
	return p.WasmPath + "#" + strings.Join(p.Exports(), ",")
}
