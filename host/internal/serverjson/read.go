package serverjson

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/weirhost/weir/host/internal/jsonedit"
	"github.com/weirhost/weir/host/internal/msg"
)

// containers are the members in which clients keep their servers, each a path of objects.
func containers() [][]string {
	return [][]string{{"mcpServers"}, {"servers"}, {"context_servers"}, {"mcp_servers"}, {"mcp", "servers"}, {"mcp", "mcpServers"}, {"mcp"}}
}

// Read returns the servers of a JSON text, by name, which may have comments and trailing
// commas, or lack the braces around it as an excerpt does. A text with one entry and no name
// for it returns a Server without a name. The error says what is wrong with the text.
func Read(text string) ([]Server, error) {
	text = strings.TrimSpace(strings.TrimPrefix(text, "\uFEFF"))
	if strings.HasPrefix(text, `"`) { // an excerpt
		text = "{" + strings.TrimRight(text, ", \t\r\n") + "}"
	}
	plain, err := jsonedit.Standard(text)
	if err != nil {
		return nil, msg.Usagef("give it as it is in the README: {\"mcpServers\": {\"NAME\": {…}}}", "%s", err)
	}
	var root map[string]json.RawMessage
	if err := json.Unmarshal([]byte(plain), &root); err != nil {
		return nil, errNone()
	}
	if isEntry(root) {
		s, err := read("", root)
		return []Server{s}, err
	}
	for _, path := range containers() {
		if all, ok := at(root, path); ok && entries(all) {
			return readAll(all)
		}
	}
	if !entries(root) {
		return nil, errNone()
	}
	return readAll(root)
}

func errNone() error {
	return msg.Usagef(`give for example {"mcpServers": {"NAME": {"command": "npx", "args": ["-y", "PACKAGE"]}}}`, "this JSON names no MCP server")
}

// at returns the object at a path; false: there is none.
func at(object map[string]json.RawMessage, path []string) (map[string]json.RawMessage, bool) {
	for _, name := range path {
		var next map[string]json.RawMessage
		if json.Unmarshal(object[name], &next) != nil || next == nil {
			return nil, false
		}
		object = next
	}
	return object, true
}

// entries reports whether an object has entries of servers alone, and at least one.
func entries(object map[string]json.RawMessage) bool {
	for _, raw := range object {
		var one map[string]json.RawMessage
		if json.Unmarshal(raw, &one) != nil || !isEntry(one) {
			return false
		}
	}
	return len(object) > 0
}

// isEntry reports whether an object says how a server is reached.
func isEntry(object map[string]json.RawMessage) bool {
	return slices.ContainsFunc(slices.Concat([]string{"command"}, addresses()), func(key string) bool { return len(object[key]) > 0 && object[key][0] != 'n' })
}

// readAll reads an object of entries. One that is faulty is an error.
func readAll(object map[string]json.RawMessage) ([]Server, error) {
	var out []Server
	for _, name := range slices.Sorted(maps.Keys(object)) {
		var one map[string]json.RawMessage
		if json.Unmarshal(object[name], &one) != nil {
			return nil, errNone()
		}
		s, err := read(name, one)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// maxName bounds the name of a server in tools.toml, in bytes.
const maxName = 30

// Name converts the name of a server to one that tools.toml takes: lower-case letters,
// digits, "-" and "_", a letter first. It is empty if none of them remains.
func Name(s string) string {
	var b strings.Builder
	for _, r := range s {
		r = unicode.ToLower(r)
		switch {
		case r >= 'a' && r <= 'z', r == '_', r >= '0' && r <= '9':
			b.WriteRune(r)
		default:
			if got := b.String(); got != "" && !strings.HasSuffix(got, "-") {
				b.WriteByte('-')
			}
		}
	}
	name := strings.TrimLeft(b.String(), "0123456789_-")
	return strings.TrimRight(name[:min(len(name), maxName)], "-_")
}
