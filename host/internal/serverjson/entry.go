package serverjson

import (
	"encoding/json"
	"maps"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weirhost/weir/host/internal/msg"
)

// A Server is one entry, in weir's terms. Either Command or URL is set.
type Server struct {
	Name    string // as it is written; empty: the text has none
	Command string
	Args    []string
	Env     map[string]string
	Dir     string
	URL     string
	Headers map[string]string
	// Allow and Deny are names of tools; empty: all, none.
	Allow, Deny []string
	Disabled    bool
	Timeout     time.Duration // of a call; 0: none is given
	Left        []string      // the keys that have no counterpart, sorted
}

func addresses() []string { return []string{"url", "serverUrl", "httpUrl", "uri"} }

// silent are keys whose loss changes nothing.
func silent() []string {
	return []string{"type", "transport", "description", "name", "title", "source", "version", "gallery", "$schema", "id", "icon", "logo", "note", "comment"}
}

// An entry is the object of one server. Each read takes its key out.
type entry struct {
	name   string
	object map[string]json.RawMessage
}

// take decodes the first of the keys that is there and that out takes, and removes all of them.
func (e entry) take(out any, keys ...string) bool {
	got := false
	for _, key := range keys {
		raw, ok := e.object[key]
		if ok && !got && string(raw) != "null" && json.Unmarshal(raw, out) == nil {
			got = true
			delete(e.object, key)
		}
	}
	return got
}

// read reads one entry.
func read(name string, object map[string]json.RawMessage) (Server, error) {
	e := entry{name, maps.Clone(object)}
	s := Server{Name: name}
	var kind, transport string
	e.take(&kind, "type")
	e.take(&transport, "transport")
	e.take(&s.URL, addresses()...)
	e.command(&s)
	s.Env, s.Headers = e.texts("env", "environment", "envs"), e.texts("headers", "http_headers")
	e.take(&s.Dir, "cwd", "workingDirectory", "working_dir")
	e.take(&s.Allow, "includeTools", "allowedTools", "enabled_tools", "tools")
	e.take(&s.Deny, "excludeTools", "disabledTools", "disabled_tools")
	if slices.Contains(s.Allow, "*") {
		s.Allow = nil
	}
	e.switches(&s)
	s.references()
	for _, key := range slices.Sorted(maps.Keys(e.object)) {
		if raw := strings.TrimSpace(string(e.object[key])); slices.Contains(silent(), key) || slices.Contains([]string{"null", "[]", "{}", `""`, "false"}, raw) {
			continue
		}
		s.Left = append(s.Left, key)
	}
	switch {
	case s.Command != "" && s.URL != "":
		return s, msg.Usagef("keep one of the two", "the server %s has both command and url", named(name))
	case s.Command == "" && s.URL == "":
		return s, msg.Usagef(`write "command": "…" and "args": […], or "url": "https://…"`, "the server %s has neither command nor url", named(name))
	case s.URL != "" && (kind == "sse" || transport == "sse"):
		return s, msg.Usagef("", "the server %s uses the old transport \"sse\"", named(name)).
			WithHint("give the address of its streamable HTTP endpoint, or run: weir mcp add %s -- npx -y mcp-remote %s", named(Name(name)), s.URL)
	}
	return s, nil
}

func named(name string) string {
	if name == "" {
		return "NAME"
	}
	return name
}

// command reads how the program is started: a text with args, a list, or an object with both.
func (e entry) command(s *Server) {
	var list []string
	var nested struct {
		Path string            `json:"path"`
		Args []string          `json:"args"`
		Env  map[string]string `json:"env"`
	}
	switch {
	case e.take(&s.Command, "command"):
	case e.take(&list, "command") && len(list) > 0:
		s.Command, s.Args = list[0], list[1:]
	case e.take(&nested, "command"):
		s.Command, s.Args = nested.Path, nested.Args
		if _, ok := e.object["env"]; !ok && len(nested.Env) > 0 {
			e.object["env"], _ = json.Marshal(nested.Env) // strings always marshal
		}
	}
	var args []json.RawMessage
	if e.take(&args, "args", "arguments") {
		for _, one := range args {
			s.Args = append(s.Args, textOf(one))
		}
	}
	if words := strings.Fields(s.Command); len(s.Args) == 0 && len(words) > 1 && !strings.ContainsAny(s.Command, `"'\/`) {
		s.Command, s.Args = words[0], words[1:]
	}
	// A wrapper for Windows is in the way elsewhere.
	if runtime.GOOS != "windows" && strings.EqualFold(strings.TrimSuffix(strings.ToLower(s.Command), ".exe"), "cmd") && len(s.Args) > 1 && strings.EqualFold(s.Args[0], "/c") {
		s.Command, s.Args = s.Args[1], s.Args[2:]
	}
}

// texts reads an object of texts; numbers and booleans count as texts.
func (e entry) texts(keys ...string) map[string]string {
	var raw map[string]json.RawMessage
	if !e.take(&raw, keys...) || len(raw) == 0 {
		return nil
	}
	out := map[string]string{}
	for name, v := range raw {
		out[name] = textOf(v)
	}
	return out
}

// textOf returns a text, or the JSON of another value, such as the number of a port.
func textOf(v json.RawMessage) string {
	var s string
	if json.Unmarshal(v, &s) != nil {
		return string(v)
	}
	return s
}

// switches reads what turns a server off, and its timeout.
func (e entry) switches(s *Server) {
	on := true
	e.take(&on, "enabled")
	e.take(&s.Disabled, "disabled")
	s.Disabled = s.Disabled || !on
	var n float64
	if e.take(&n, "timeout", "tool_timeout_sec") && n > 0 && n < 1e9 {
		unit := time.Second
		if n > 3600 { // some clients count milliseconds; none allows more than an hour
			unit = time.Millisecond
		}
		s.Timeout = time.Duration(n * float64(unit))
	}
}

var reference = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{(?:(input|env):)?([^}:]+)(:-[^}]*)?\}`) })

// references puts the references of other clients into weir's form: ${NAME}. The folder of a
// client's workspace is the one of tools.toml.
func (s *Server) references() {
	convert := func(text string) string {
		return reference().ReplaceAllStringFunc(text, func(ref string) string {
			m := reference().FindStringSubmatch(ref)
			switch {
			case m[1] == "input":
				return "${" + variable(m[2]) + "}"
			case m[2] == "workspaceFolder", m[2] == "workspaceRoot":
				return "."
			case m[2] == "userHome":
				return "${HOME}"
			}
			return "${" + m[2] + m[3] + "}"
		})
	}
	s.each(func(_, text string) string { return convert(text) })
	s.Command, s.Dir = convert(s.Command), convert(s.Dir)
}

// each replaces every value that may have a reference or a secret. f gets the name of the
// value, if it has one: of a variable, a header or a flag.
func (s *Server) each(f func(name, text string) string) {
	for _, set := range []map[string]string{s.Env, s.Headers} {
		for _, name := range slices.Sorted(maps.Keys(set)) {
			set[name] = f(name, set[name])
		}
	}
	flag := ""
	for i, a := range s.Args {
		name, value, both := strings.Cut(a, "=")
		switch {
		case both && strings.HasPrefix(a, "-"):
			s.Args[i], flag = name+"="+f(strings.TrimLeft(name, "-"), value), ""
		case strings.HasPrefix(a, "-"):
			flag = strings.TrimLeft(a, "-")
		case both && isEnvName(name): // docker run -e NAME=VALUE
			s.Args[i], flag = name+"="+f(name, value), ""
		default:
			s.Args[i], flag = f(flag, a), ""
		}
	}
	s.URL = f("", s.URL)
}
