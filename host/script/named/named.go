// Package named reads scripts that are tools of their own: NAME.js in a folder, with a
// manifest in the comment at its beginning. The manifest says what the tool does and which
// tools it calls; a person grants the very text of the file by its digest.
package named

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/BurntSushi/toml"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/schema"
	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/host/internal/tomlpos"
	"github.com/weirhost/weir/sdk/tool"
)

// MaxSource is how long a script may be, maxDescription how long its description, in bytes.
const (
	MaxSource      = 256 << 10
	maxDescription = 1 << 10
)

// ErrChanged is the error of a script that is not the one that was granted.
var ErrChanged = errors.New("the script has been changed since it was granted")

// A Script is a tool.
type Script struct {
	Spec   tool.Spec
	Source string
	// Tools are what it asks to call; nothing else is called.
	Tools  []string
	Digest string // of the file, as a grant has it

	params *schema.Schema
}

// Check returns what is wrong with arguments; nil: nothing.
func (s *Script) Check(args map[string]any) *tool.Error {
	if wrong := s.params.Check(args); len(wrong) > 0 {
		return tool.NewError(tool.BadArgs, tool.Textf("the arguments of %s do not fit: %s", s.Spec.Name, text.Join(wrong)), tool.Textf("correct this and call the tool again"))
	}
	return nil
}

// manifest is the comment at the beginning of a script, in TOML.
type manifest struct {
	Description   string         `toml:"description"`
	DescriptionZh string         `toml:"description_zh"`
	Tools         []string       `toml:"tools"`
	ReadOnly      bool           `toml:"read_only"`
	MaxChars      int            `toml:"max_chars"`
	MaxLines      int            `toml:"max_lines"`
	Params        map[string]any `toml:"params"`
}

// validName matches names of tools.
var validName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`) })

// opening begins the comment with the manifest.
const opening = "/* weir"

// Parse reads a script. Its errors say what to correct.
func Parse(name string, source []byte) (*Script, error) {
	switch {
	case !validName().MatchString(name) || tool.IsBuiltIn(name):
		return nil, msg.Errorf("the name %q is no name of a tool: it has small letters, digits and _", name)
	case len(source) > MaxSource || !utf8.Valid(source):
		return nil, msg.Errorf("the script %s is longer than %d bytes, or not UTF-8", name, MaxSource)
	}
	comment, ok := strings.CutPrefix(string(source), opening)
	end := strings.Index(comment, "*/")
	if !ok || end < 0 {
		return nil, msg.Errorf("the script %s does not begin with a manifest: %s", name, `/* weir description = "…" */`)
	}
	var m manifest
	meta, err := toml.Decode(comment[:end], &m)
	if err != nil {
		return nil, msg.Errorf("the manifest of the script %s cannot be read: %s", name, err)
	}
	for _, key := range meta.Undecoded() {
		if key[0] == "params" { // which is a JSON Schema
			continue
		}
		return nil, msg.Errorf("the manifest of the script %s has a key that does not exist: %s", name, key.String())
	}
	m.Description, m.DescriptionZh = text.Clean(m.Description), text.Clean(m.DescriptionZh)
	switch {
	case strings.TrimSpace(m.Description) == "" || len(m.Tools) == 0:
		return nil, msg.Errorf("the manifest of the script %s needs description and tools", name)
	case max(len(m.Description), len(m.DescriptionZh)) > maxDescription:
		return nil, msg.Errorf("the description of the script %s is longer than %d bytes", name, maxDescription)
	case m.MaxChars != 0 && m.MaxChars < tool.MinMaxChars || m.MaxLines < 0:
		return nil, msg.Errorf("max_chars of the script %s is less than %d, or max_lines less than 0", name, tool.MinMaxChars)
	case m.Params["type"] != nil && m.Params["type"] != "object":
		return nil, msg.Errorf("the parameters of the script %s cannot be read: %s", name, `type = "object"`)
	}
	return m.script(name, source)
}

// CheckFile returns what is wrong with the manifest of a file; nil: nothing, or it has none
// and is no tool of its own.
func CheckFile(file, source string) error {
	if !strings.HasPrefix(source, opening) {
		return nil
	}
	_, err := Parse(strings.TrimSuffix(filepath.Base(file), ".js"), []byte(source))
	return err
}

// An Asked is a tool that a manifest asks to call.
type Asked struct {
	Tool string
	Line int // of the file, from 1
}

// AskedTools returns the tools that the manifest of a source asks to call; none: it has no
// manifest that can be read.
func AskedTools(source string) (out []Asked) {
	comment, ok := strings.CutPrefix(source, opening)
	comment, _, closed := strings.Cut(comment, "*/")
	var m manifest
	if !ok || !closed {
		return nil
	}
	root, ok := tomlpos.Locate(comment)
	if _, err := tomlpos.Decode(comment, &m); err != nil || !ok {
		return nil
	}
	for i, name := range m.Tools {
		at := root.Key("tools").Item(i).At
		out = append(out, Asked{name, 1 + strings.Count(comment[:at], "\n")})
	}
	return out
}

// script returns the tool that a manifest describes.
func (m manifest) script(name string, source []byte) (*Script, error) {
	if m.Params == nil {
		m.Params = map[string]any{}
	}
	m.Params["type"] = "object"
	params, err := json.Marshal(m.Params)
	if err != nil {
		return nil, msg.Errorf("the parameters of the script %s cannot be read: %s", name, err)
	}
	compiled, err := schema.Compile(params)
	if err != nil {
		return nil, msg.Errorf("the parameters of the script %s cannot be read: %s", name, err)
	}
	return &Script{
		Spec: tool.Spec{
			Name: name, Description: m.Description, DescriptionZh: m.DescriptionZh, Params: params, Hints: tool.Hints{ReadOnly: m.ReadOnly}, Script: true,
			Output: tool.Limits{MaxChars: m.MaxChars, MaxLines: m.MaxLines, Archive: tool.ArchiveAlways},
		},
		Source: string(source), Tools: m.Tools, Digest: DigestOf(source), params: compiled,
	}, nil
}

// DigestOf returns the digest of a script, as a grant has it.
func DigestOf(source []byte) string {
	sum := sha256.Sum256(source)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Read reads the script of that name in a folder. The error is ErrChanged if it is not the
// one with the granted digest: what was granted is the text, and a changed one waits for a
// person again.
func Read(folder, name, granted string) (*Script, error) {
	if !validName().MatchString(name) { // a path would lead out of the folder
		return nil, msg.Errorf("the name %q is no name of a tool: it has small letters, digits and _", name)
	}
	f, err := os.Open(filepath.Join(folder, name+".js"))
	if err != nil {
		return nil, msg.Errorf("the script %s cannot be read", name)
	}
	defer f.Close()
	source, err := io.ReadAll(io.LimitReader(f, MaxSource+1))
	if err != nil {
		return nil, msg.Errorf("the script %s cannot be read", name)
	}
	if DigestOf(source) != granted {
		return nil, ErrChanged
	}
	return Parse(name, source)
}
