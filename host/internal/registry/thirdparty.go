package registry

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weirhost/weir/host/internal/schema"
	"github.com/weirhost/weir/sdk/js"
	"github.com/weirhost/weir/sdk/tool"
)

// An ABI is a calling convention of plugins for other hosts. The empty ABI is
// weir's own.
type ABI string

// Plugins for mcp.run and hyper-mcp 1 use ABIDescribe, those for hyper-mcp 2 and
// later ABIList.
const (
	ABIOwn      ABI = ""
	ABIDescribe ABI = "describe/call"
	ABIList     ABI = "list_tools/call_tool"
)

// Exports returns the names of the exports that list the tools and run a tool.
func (a ABI) Exports() (list, call string) {
	list, call, _ = strings.Cut(string(a), "/")
	return list, call
}

// abiOf returns the ABI of a module with these exports.
func abiOf(exports []string) ABI {
	for _, a := range []ABI{ABIList, ABIDescribe} {
		list, call := a.Exports()
		if slices.Contains(exports, list) && slices.Contains(exports, call) {
			return a
		}
	}
	return ABIOwn
}

// Asked returns the export that says what a plugin has; empty: the manifest says it.
func (p *Plugin) Asked() string {
	if p.IsScript() {
		return js.Check
	}
	list, _ := p.ABI.Exports()
	return list
}

// A Description is what a module says of itself: one with a third-party ABI its tool
// list, a script's what it exports. It is untrusted.
type Description struct {
	// Answer is the output of the listing export.
	Answer []byte
	// Err is the reason if there is no Answer.
	Err error
	// Pending reports that the list is still being requested.
	Pending bool
}

// A Describer runs the exports that say what plugins have. It returns one
// Description for each, in the same order. It runs the plugins' code, which this
// package never does.
type Describer func(ctx context.Context, plugins []*Plugin) []Description

// Bounds of a third-party description, in bytes unless the name says otherwise.
const (
	maxThirdPartyTools = 256
	maxToolName        = 64
)

// thirdPartyFix is the remedy for a plugin without a usable tool list.
func thirdPartyFix() tool.Text { return tool.Textf("ask its author, or remove the plugin") }

// readThirdParty completes readPacked for a module without a manifest. describe
// adds the tools later.
func (p *Plugin) readThirdParty(abi ABI, l moduleFacts) []Problem {
	p.ABI = abi
	p.setFacts(l)
	if p.Manifest.Name = cleanName(strings.TrimSuffix(filepath.Base(p.Source), ".wasm")); p.Manifest.Name == "" {
		return []Problem{{File: p.Source, Msg: tool.Textf("a plugin of this kind is named by its file, and this file's name has no letter from a to z and no digit"), Fix: tool.Textf("rename the file, for example to mytool.wasm")}}
	}
	p.Manifest.Wasm = filepath.Base(p.Source)
	return nil
}

// cleanName converts an untrusted name to lower-case letters, digits and single
// underscores, with a letter first. It returns "" if nothing remains.
func cleanName(s string) string {
	var b strings.Builder
	gap := false
	for _, r := range strings.ToLower(s) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			if gap && b.Len() > 0 {
				b.WriteByte('_')
			}
			gap = false
			b.WriteRune(r)
			continue
		}
		gap = true
	}
	name := b.String()
	if name != "" && (name[0] < 'a') {
		name = "p" + name
	}
	return fitName(name, maxToolName/2, s)
}

// fitName shortens a name to n bytes. A digest of the whole name replaces the
// end, because two long names must stay different.
func fitName(name string, n int, whole string) string {
	if len(name) <= n {
		return name
	}
	sum := sha256.Sum256([]byte(whole))
	return strings.TrimRight(name[:n-7], "_-") + "_" + hex.EncodeToString(sum[:3])
}

// thirdPartyList is the answer in both ABIs. It omits _meta, annotations and all
// other fields, because weir cannot verify their claims.
type thirdPartyList struct {
	Tools []struct {
		Name        string          `json:"name"`
		Title       string          `json:"title"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"inputSchema"`
	} `json:"tools"`
}

// describe sets the tools of a third-party plugin from its tool list, and checks
// a script by its report.
func (p *Plugin) describe(d Description) []Problem {
	if p.IsScript() {
		return p.report(d)
	}
	list := p.Asked()
	refuse := func(format string, args ...any) []Problem {
		return []Problem{{File: p.Source, Msg: tool.Textf(format, args...), Fix: thirdPartyFix()}}
	}
	if d.Err != nil {
		return []Problem{{File: p.Source, Msg: tool.Textf("its export %s, which lists its tools, failed: %s", list, d.Err), Fix: tool.Textf("ask its author, or remove the plugin; after ten minutes a reload asks it again")}}
	}
	var answer thirdPartyList
	dec := json.NewDecoder(bytes.NewReader(d.Answer))
	if err := dec.Decode(&answer); err != nil || dec.More() {
		return refuse(`its export %s does not answer with a list of tools, {"tools":[…]}`, list)
	}
	switch n := len(answer.Tools); {
	case n == 0:
		return refuse("its export %s lists no tool", list)
	case n > maxThirdPartyTools:
		return refuse("its export %s lists %d tools, and at most %d are taken", list, n, maxThirdPartyTools)
	}
	var problems []Problem
	warn := func(format string, args ...any) {
		problems = append(problems, Problem{File: p.Source, Msg: tool.Textf(format, args...), Warning: true})
	}
	var budget schema.Budget
	p.Manifest.Description = fmt.Sprintf("tools of a plugin for other hosts (%s)", p.ABI)
	for i, t := range answer.Tools {
		one, ok := p.thirdPartyTool(t.Name, i, warn)
		if !ok {
			continue
		}
		one.Spec.Description = schema.Prose(t.Description, t.Title)
		if one.Spec.Description == "" {
			one.Spec.Description = fmt.Sprintf("The tool %s of the plugin %s, which does not describe it.", one.Spec.Name, p.Manifest.Name)
		}
		one.Spec.Params, one.Schema = thirdPartySchema(one.Spec.Name, t.InputSchema, &budget, warn)
		p.Manifest.Tools = append(p.Manifest.Tools, one)
	}
	if len(p.Manifest.Tools) == 0 {
		return refuse("none of the tools that its export %s lists has a name that can be used", list)
	}
	p.ManifestSHA256 = p.listDigest()
	return problems
}

// listDigest replaces the digest of a manifest. It hashes the decoded list with
// sorted keys, because some plugins write them in a different order each time.
func (p *Plugin) listDigest() string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	for _, t := range p.Manifest.Tools {
		var params any
		if json.Unmarshal(t.Spec.Params, &params) != nil || enc.Encode([]any{t.Spec.Name, t.Remote, t.Spec.Description, params}) != nil {
			b.Write(t.Spec.Params) // params were compiled, and so are valid
		}
	}
	return digest(b.Bytes())
}

// thirdPartyTool returns one tool with its name and export, or false if the tool
// is left out.
func (p *Plugin) thirdPartyTool(name string, i int, warn func(string, ...any)) (Tool, bool) {
	_, call := p.ABI.Exports()
	if len(name) > 4*maxToolName {
		warn("tool %d of its list is left out: its name is %d bytes long", i+1, len(name))
		return Tool{}, false
	}
	short := cleanName(name)
	if short == "" {
		warn("tool %d of its list is left out: its name %q has no letter from a to z and no digit", i+1, name)
		return Tool{}, false
	}
	full := p.Manifest.Name + "__" + short
	if slices.ContainsFunc(p.Manifest.Tools, func(o Tool) bool { return o.Spec.Name == full }) {
		warn("tool %d of its list, %q, is left out: an earlier one is named %s", i+1, name, full)
		return Tool{}, false
	}
	return Tool{Spec: tool.Spec{Name: full, Written: name}, Export: call, Format: FormatMCP, Remote: name}, true
}

// freeParams is the schema of a tool that accepts any arguments.
const freeParams = `{"type":"object","additionalProperties":true}`

// maxFaults bounds what is told of one broken schema.
const maxFaults = 3

// thirdPartySchema returns a third-party schema without what is broken in it, or a schema
// that accepts everything if none of it can be kept. note tells what is left out.
func thirdPartySchema(name string, raw json.RawMessage, budget *schema.Budget, note func(string, ...any)) (json.RawMessage, *schema.Schema) {
	text, s, faults, err := budget.Salvage(raw)
	if err == nil {
		for _, fault := range faults[:min(len(faults), maxFaults)] {
			note("a part of the schema of %s is left out: %s", name, fault)
		}
		if more := len(faults) - maxFaults; more > 0 {
			note("%d more parts of the schema of %s are left out", more, name)
		}
		return text, s
	}
	note("%s takes any arguments: %s", name, err)
	s, err = schema.Compile(json.RawMessage(freeParams))
	if err != nil {
		return nil, nil // unreachable: a constant that compiles
	}
	return json.RawMessage(freeParams), s
}
