package author

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/host/internal/wasmcheck"
)

// FromModule makes the folder of a plugin around a module that has no manifest: a copy of
// the module, and a plugin.toml with a tool for each function that it exports without
// parameters. What the tools do and take, their author completes. It returns the files'
// names. Errors are *ErrNotEmpty, or about the module and files.
func FromModule(dir, name, module string) ([]string, error) {
	if st, err := os.Stat(module); err == nil && !st.Mode().IsRegular() {
		return nil, msg.Errorf("%s is no file", module) // a pipe blocks, and a device has no end
	}
	wasm, err := os.ReadFile(module)
	if err != nil {
		return nil, msg.Errorf("the module cannot be read: %w", err)
	}
	r, err := wasmcheck.Check(wasm, wasmcheck.DefaultLimits())
	if err != nil {
		return nil, msg.Errorf("%s is no module: %s", module, err)
	}
	if _, packed := r.Custom[registry.SectionName]; packed {
		return nil, msg.Errorf("%s carries its manifest and needs no plugin.toml: put it into a plugin folder as it is", module)
	}
	if describesItself(r) {
		return nil, msg.Errorf("%s lists its tools itself and needs no plugin.toml: put it into a plugin folder as it is", module)
	}
	functions := callable(r)
	if len(functions) == 0 {
		return nil, msg.Errorf("%s exports no function without parameters, and a tool is one", module)
	}
	file := name + ".wasm"
	return write(dir, map[string][]byte{file: wasm, "plugin.toml": manifestFor(name, file, functions)})
}

// describesItself reports whether a module is of mcp.run's or hyper-mcp's kind.
func describesItself(r *wasmcheck.Report) bool {
	exports := func(name string) bool {
		return slices.ContainsFunc(r.Exports, func(e wasmcheck.Export) bool { return e.Name == name })
	}
	return slices.ContainsFunc([]registry.ABI{registry.ABIList, registry.ABIDescribe}, func(a registry.ABI) bool {
		list, call := a.Exports()
		return exports(list) && exports(call)
	})
}

// callable returns the functions that a module exports as tools can be called: without
// parameters, and with one result or none.
func callable(r *wasmcheck.Report) (names []string) {
	for _, e := range r.Exports {
		if e.Kind != wasmcheck.KindFunc || strings.HasPrefix(e.Name, "_") || strings.HasPrefix(e.Name, "weir_") {
			continue
		}
		if s := r.Types[r.Functions[e.Index]]; s.Params == 0 && s.Results <= 1 {
			names = append(names, e.Name)
		}
	}
	return names
}

// manifestFor returns a manifest for a module's functions.
func manifestFor(name, file string, functions []string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# What this plugin is. Every key is explained in docs/manifest.md of weir.\nschema  = 1\nname    = %s\nversion = \"0.1.0\"\nwasm    = %s\n\n"+
		"# What it asks for; the operator grants it, or not.\n[permissions]\npaths   = []\nhosts   = []\nsecrets = []\n", quoted(name), quoted(file))
	var taken []string
	for i, f := range functions {
		t := toolName(f)
		if !CheckName(t).IsZero() || slices.Contains(taken, t) {
			t = fmt.Sprintf("%s_%d", name, i+1)
		}
		taken = append(taken, t)
		fmt.Fprintf(&b, "\n[[tool]]\nname        = %s\nexport      = %s\n# The model chooses the tool by this text: say what it does and when to use it.\ndescription = %s\n"+
			"\n[tool.params] # the JSON Schema of its arguments\ntype = \"object\"\n", quoted(t), quoted(f), quoted("The function "+text.OneLine(f, 64)+" of "+file+"."))
	}
	return []byte(b.String())
}

// quoted returns a text as a string of TOML, which JSON's strings are too.
func quoted(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil { // no text makes one
		return []byte(`""`)
	}
	return b
}

// toolName returns the name of a function as a tool may have it: countVowels, count-vowels
// and COUNT_VOWELS are count_vowels.
func toolName(function string) string {
	var b strings.Builder
	lower := false
	for _, r := range function {
		switch {
		case r >= 'A' && r <= 'Z':
			if lower {
				b.WriteByte('_')
			}
			b.WriteRune(r + 'a' - 'A')
		case r == '-' || r == '.' || r == ' ' || r == '/':
			b.WriteByte('_')
		default:
			b.WriteRune(r)
		}
		lower = r >= 'a' && r <= 'z' || r >= '0' && r <= '9'
	}
	return b.String()
}
