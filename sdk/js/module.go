// Package js makes a WebAssembly module of a tool that is written in JavaScript:
// QuickJS, a prelude that gives the script what a tool needs, and the script. The
// module is an ordinary plugin, for weir and for every other host of Extism.
package js

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Check is an export of every module that is made here. It returns, as JSON, a Report
// of the script. Its input does not matter.
const Check = "weir_script"

// A Report says how the top level of a script ended. It is the script's own word.
type Report struct {
	// Error is why it did not end well; empty: it did. File is the source by its path
	// in the folder; empty: not known. Line and Column count from 1; 0: not known.
	Error        string
	File         string
	Line, Column int
	// Exports are the functions that the script exports.
	Exports []string
}

// MaxScript is how long a script may be, in bytes.
const MaxScript = 4 << 20

//go:embed runtime/runtime.wasm
var runtime []byte

//go:embed runtime/prelude.js
var prelude []byte

// Module returns a module with an export for each tool, which calls the function
// that the script exports under the same name. Equal arguments give equal bytes.
// file is what errors call the script; where the last line of the script holds a source
// map, they name the sources. The script itself is not looked at: what is wrong in it,
// the export Check says, and each call.
func Module(file string, script []byte, tools ...string) ([]byte, error) {
	switch {
	case len(tools) == 0:
		return nil, errors.New("a script needs the name of a tool")
	case len(script) > MaxScript:
		return nil, fmt.Errorf("the script has %d bytes; at most %d are allowed", len(script), MaxScript)
	case !utf8.Valid(script):
		return nil, errors.New("the script is not UTF-8")
	}
	m, err := read(runtime)
	if err != nil {
		return nil, err
	}
	script, origins := cutSourceMap(script)
	names := slices.Clone(script)
	for _, name := range tools {
		if err := m.export(name, len(names), len(name)); err != nil {
			return nil, err
		}
		names = append(names, name...)
	}
	prelude, err := preludeFor(file, origins)
	if err != nil {
		return nil, err
	}
	sizes := binary.LittleEndian.AppendUint32(nil, uint32(len(prelude)))
	sizes = binary.LittleEndian.AppendUint32(sizes, uint32(len(script)))
	if err := m.export(Check, 0, 0); err != nil {
		return nil, err
	}
	for _, d := range []struct {
		mark    string
		content []byte
	}{{"[sizes]!", sizes}, {"[prelude]", prelude}, {"[script]", names}} {
		if !m.replace(d.mark, d.content) {
			return nil, fmt.Errorf("the runtime has no place for %s", d.mark)
		}
	}
	return m.write(), nil
}

// preludeFor returns the prelude with the name that it calls the script by, and the
// script's source map.
func preludeFor(file string, origins *sourceMap) ([]byte, error) {
	out := prelude
	for _, c := range []struct {
		mark  string
		value any
	}{{"const ORIGINS = null", origins}, {`const FILE = "tool.js"`, strings.ToValidUTF8(file, "?")}} { // JSON has no text like the second mark's
		value, err := json.Marshal(c.value)
		if err != nil || bytes.Count(prelude, []byte(c.mark)) != 1 {
			return nil, errRuntime
		}
		name, _, _ := strings.Cut(c.mark, "=")
		out = bytes.Replace(out, []byte(c.mark), append([]byte(name+"= "), value...), 1)
	}
	return out, nil
}
