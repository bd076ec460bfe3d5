package registry

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weirhost/weir/host/internal/schema"
	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/sdk/tool"
)

// An ABI is a way in which plugins made for other hosts talk. The empty ABI is
// weir's own.
type ABI string

// Plugins for mcp.run and the first hyper-mcp describe themselves by one
// export, those for hyper-mcp since its second version by another.
const (
	ABIOwn      ABI = ""
	ABIDescribe ABI = "describe/call"
	ABIList     ABI = "list_tools/call_tool"
)

// Exports are the functions that the ABI's hosts call: the one that lists the
// tools, and the one that runs each of them.
func (a ABI) Exports() (list, call string) {
	list, call, _ = strings.Cut(string(a), "/")
	return list, call
}

// abiOf recognises a module by what it exports.
func abiOf(exports []string) ABI {
	for _, a := range []ABI{ABIList, ABIDescribe} {
		list, call := a.Exports()
		if slices.Contains(exports, list) && slices.Contains(exports, call) {
			return a
		}
	}
	return ABIOwn
}

// A Description is what a module of a foreign ABI said about itself when it was
// asked. Every byte of it is a stranger's.
type Description struct {
	// Answer is what the listing export answered.
	Answer []byte
	// Err says why there is no Answer; a sentence.
	Err error
	// Pending says that there is no Answer yet.
	Pending bool
}

// A Describer asks modules of a foreign ABI what their tools are, and returns
// as many Descriptions, in the same order. It runs their code, which this
// package never does.
type Describer func(ctx context.Context, plugins []*Plugin) []Description

// What is taken of a stranger's description; in bytes unless it says otherwise.
const (
	maxForeignTools  = 256
	maxForeignSchema = 32 << 10
	maxToolName      = 64
)

// foreignFix is what can be done about a plugin that does not describe itself.
const foreignFix = "ask its author, or remove the plugin"

// readForeign is the rest of readPacked for a module without a manifest. The
// tools are filled in when it has been described.
func (p *Plugin) readForeign(abi ABI, l look) []Problem {
	p.ABI = abi
	p.is(l)
	if p.Manifest.Name = cleanName(strings.TrimSuffix(filepath.Base(p.Source), ".wasm")); p.Manifest.Name == "" {
		return []Problem{{File: p.Source, Msg: "a plugin of this kind is named by its file, and this file's name has no letter from a to z and no digit", Fix: "rename the file, for example to mytool.wasm"}}
	}
	p.Manifest.Wasm = filepath.Base(p.Source)
	return nil
}

// cleanName makes a name of a stranger's: small letters, digits and single
// underscores, a letter first; empty when nothing is left.
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

// fitName shortens a name to n bytes. What was cut off lives on in a digest, so
// that two long names do not become one.
func fitName(name string, n int, whole string) string {
	if len(name) <= n {
		return name
	}
	sum := sha256.Sum256([]byte(whole))
	return strings.TrimRight(name[:n-7], "_") + "_" + hex.EncodeToString(sum[:3])
}

// foreignList is what both ABIs answer; _meta, annotations and what else there
// is promises things that nobody can hold a stranger to.
type foreignList struct {
	Tools []struct {
		Name        string          `json:"name"`
		Title       string          `json:"title"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"inputSchema"`
	} `json:"tools"`
}

// describe fills in the tools of a foreign plugin from what it said.
func (p *Plugin) describe(d Description) []Problem {
	list, _ := p.ABI.Exports()
	refuse := func(format string, args ...any) []Problem {
		return []Problem{{File: p.Source, Msg: fmt.Sprintf(format, args...), Fix: foreignFix}}
	}
	if d.Err != nil {
		return []Problem{{File: p.Source, Msg: fmt.Sprintf("its export %s, which lists its tools, failed: %s", list, d.Err), Fix: "ask its author, or remove the plugin; after ten minutes a reload asks it again"}}
	}
	var answer foreignList
	dec := json.NewDecoder(bytes.NewReader(d.Answer))
	if err := dec.Decode(&answer); err != nil || dec.More() {
		return refuse(`its export %s does not answer with a list of tools, {"tools":[…]}`, list)
	}
	switch n := len(answer.Tools); {
	case n == 0:
		return refuse("its export %s lists no tool", list)
	case n > maxForeignTools:
		return refuse("its export %s lists %d tools, and at most %d are taken", list, n, maxForeignTools)
	}
	var problems []Problem
	warn := func(format string, args ...any) {
		problems = append(problems, Problem{File: p.Source, Msg: fmt.Sprintf(format, args...), Warning: true})
	}
	p.Manifest.Description = fmt.Sprintf("tools of a plugin for other hosts (%s)", p.ABI)
	for i, t := range answer.Tools {
		one, ok := p.foreignTool(t.Name, i, warn)
		if !ok {
			continue
		}
		one.Spec.Description = foreignText(t.Description, t.Title)
		if one.Spec.Description == "" {
			one.Spec.Description = fmt.Sprintf("The tool %s of the plugin %s, which does not describe it.", one.Spec.Name, p.Manifest.Name)
		}
		one.Spec.Params, one.Schema = foreignSchema(t.InputSchema, func(why string) {
			warn("%s takes any arguments: %s", one.Spec.Name, why)
		})
		p.Manifest.Tools = append(p.Manifest.Tools, one)
	}
	if len(p.Manifest.Tools) == 0 {
		return refuse("none of the tools that its export %s lists has a name that can be used", list)
	}
	p.ManifestSHA256 = p.listDigest()
	return problems
}

// listDigest stands for a manifest's digest: of what is made of the list, with
// keys in one order, for some plugins write theirs in another each time.
func (p *Plugin) listDigest() string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	for _, t := range p.Manifest.Tools {
		var params any
		if json.Unmarshal(t.Spec.Params, &params) != nil || enc.Encode([]any{t.Spec.Name, t.Remote, t.Spec.Description, params}) != nil {
			b.Write(t.Spec.Params) // it was compiled, and reads
		}
	}
	return digest(b.Bytes())
}

// foreignTool names one tool and says how it is run. false: it is left out.
func (p *Plugin) foreignTool(name string, i int, warn func(string, ...any)) (Tool, bool) {
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
	return Tool{Spec: tool.Spec{Name: full}, Export: call, Format: FormatMCP, Remote: name}, true
}

// foreignText is a description without what cannot be seen, cut to what a
// manifest could say.
func foreignText(texts ...string) string {
	for _, s := range texts {
		// What is far too long is cut before it is looked at.
		s = strings.ToValidUTF8(s[:min(len(s), 16*maxDescription)], "")
		if s = strings.TrimSpace(text.Clean(s)); s == "" {
			continue
		}
		if len(s) <= maxDescription {
			return s
		}
		return strings.ToValidUTF8(s[:maxDescription-len("…")], "") + "…"
	}
	return ""
}

// freeParams is the schema of a tool that may take anything.
const freeParams = `{"type":"object","additionalProperties":true}`

// foreignSchema returns a stranger's schema if it can be used, else one that
// lets everything pass; why says what is wrong with the first.
func foreignSchema(raw json.RawMessage, why func(string)) (json.RawMessage, *schema.Schema) {
	text, err := tidySchema(raw)
	if err == nil {
		var s *schema.Schema
		if s, err = schema.Compile(text); err == nil {
			return text, s
		}
	}
	why(err.Error())
	s, err := schema.Compile(json.RawMessage(freeParams))
	if err != nil {
		return nil, nil // it is a constant, and compiles
	}
	return json.RawMessage(freeParams), s
}

// tidySchema compacts a schema, strips what cannot be seen from its texts, and
// adds the type that some authors leave out.
func tidySchema(raw json.RawMessage) (json.RawMessage, error) {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) > maxForeignSchema:
		return nil, fmt.Errorf("its schema is %d bytes long, and at most %d are read", len(raw), maxForeignSchema)
	case len(raw) == 0 || string(raw) == "null":
		return json.RawMessage(noParams), nil
	case raw[0] != '{':
		return nil, errors.New("its schema is not an object")
	}
	w := &tidy{dec: json.NewDecoder(bytes.NewReader(raw))}
	w.dec.UseNumber()
	if err := w.value("", 0); err != nil {
		return nil, err
	}
	var top map[string]json.RawMessage
	if err := json.Unmarshal(w.out.Bytes(), &top); err != nil {
		return nil, errors.New("its schema is not valid JSON")
	}
	if _, typed := top["type"]; !typed {
		rest := strings.TrimPrefix(w.out.String(), "{")
		if rest != "}" {
			rest = "," + rest
		}
		return json.RawMessage(`{"type":"object"` + rest), nil
	}
	return w.out.Bytes(), nil
}

// maxSchemaDepth bounds the nesting of a stranger's schema.
const maxSchemaDepth = 48

// tidy copies JSON in its own order. What people and models read in it is
// cleaned; of a stranger's, every string, and texts are cut to the length of a
// description.
type tidy struct {
	dec   *json.Decoder
	out   jsonWriter
	known bool // the author is no stranger
	fault error
}

func (w *tidy) value(key string, depth int) error {
	if depth > maxSchemaDepth {
		return fmt.Errorf("its schema nests deeper than %d levels", maxSchemaDepth)
	}
	t, err := w.dec.Token()
	if err != nil {
		return errors.New("its schema is not valid JSON")
	}
	switch t := t.(type) {
	case json.Delim:
		return w.inside(t, depth)
	case string:
		w.out.literal(w.text(t, key == "description" || key == "title"))
	default:
		w.out.literal(t)
	}
	return nil
}

func (w *tidy) text(s string, read bool) string {
	switch {
	case w.known:
		return w.own(s, read)
	case !read:
		return text.Clean(s)
	}
	return foreignText(s)
}

// own holds a text to what a manifest may say.
func (w *tidy) own(s string, read bool) string {
	shown := text.Clean(s)
	switch {
	case !read && shown != s:
		w.fault = errors.New("it " + hidden)
	case read && len(shown) > maxDescription:
		w.fault = fmt.Errorf("it holds a text of %d bytes, and at most %d are taken", len(shown), maxDescription)
	case !read:
		return s
	}
	return shown
}

// inside copies an object or a list up to its end.
func (w *tidy) inside(open json.Delim, depth int) error {
	w.out.WriteString(open.String())
	for n := 0; w.dec.More(); n++ {
		if n > 0 {
			w.out.WriteByte(',')
		}
		key := ""
		if open == '{' {
			t, err := w.dec.Token()
			name, ok := t.(string)
			if err != nil || !ok {
				return errors.New("its schema is not valid JSON")
			}
			key = w.text(name, false)
			w.out.literal(key)
			w.out.WriteByte(':')
		}
		if err := w.value(key, depth+1); err != nil {
			return err
		}
	}
	end, err := w.dec.Token()
	if err != nil {
		return errors.New("its schema is not valid JSON")
	}
	w.out.WriteString(end.(json.Delim).String())
	return w.fault
}
