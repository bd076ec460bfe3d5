package archive

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/weirhost/weir/sdk/tool"
)

// pointerOf accepts the forms around RFC 6901 that people write: as a URI
// fragment, and without the leading slash.
func pointerOf(s string) string {
	if fragment, ok := strings.CutPrefix(s, "#"); ok {
		if plain, err := url.PathUnescape(fragment); err == nil {
			s = plain
		}
	}
	if s != "" && s[0] != '/' {
		s = "/" + s
	}
	return s
}

// pick returns the value that pointer names in a JSON text: a string as its
// plain text, everything else as the very bytes that stand there.
func pick(text, pointer string) (string, *tool.Error) {
	value := json.RawMessage(strings.TrimSpace(text))
	if !json.Valid(value) {
		return "", tool.Errorf(tool.BadArgs, "use lines, grep, head or tail", "pointer needs a JSON text, and this result is none")
	}
	if pointer != "" && pointer[0] != '/' {
		return "", badPart("a pointer begins with /")
	}
	done := ""
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		next, err := step(value, strings.NewReplacer("~1", "/", "~0", "~").Replace(part), done)
		if err != nil {
			return "", err
		}
		value, done = next, done+"/"+part
	}
	var s string
	if value[0] == '"' && json.Unmarshal(value, &s) == nil {
		return s, nil
	}
	return string(value), nil
}

// step goes one token down; at is the pointer that led to value.
func step(value json.RawMessage, token, at string) (json.RawMessage, *tool.Error) {
	switch value[0] {
	case '{':
		var object map[string]json.RawMessage
		if json.Unmarshal(value, &object) != nil {
			break
		}
		if next, ok := object[token]; ok {
			return next, nil
		}
		return nil, tool.Errorf(tool.BadArgs, "its keys are "+keysOf(string(value)), "%s has no key %q", where(at), clip(token, 100))
	case '[':
		var array []json.RawMessage
		if json.Unmarshal(value, &array) != nil {
			break
		}
		i, err := strconv.Atoi(token)
		if err == nil && i >= 0 && i < len(array) && strconv.Itoa(i) == token {
			return array[i], nil
		}
		if len(array) == 0 {
			return nil, tool.Errorf(tool.BadArgs, "point at the array itself", "%s is an empty array", where(at))
		}
		return nil, tool.Errorf(tool.BadArgs, "its items are 0 to "+strconv.Itoa(len(array)-1), "%s has no item %q", where(at), clip(token, 100))
	}
	return nil, tool.Errorf(tool.BadArgs, "point at it with "+strconv.Quote(at), "%s is a single value and has nothing below it", where(at))
}

func where(at string) string {
	if at == "" {
		return "the result"
	}
	return clip(at, 100)
}

// keysOf lists the keys of an object in their order, as many as a hint bears.
func keysOf(object string) string {
	const room = 200
	var b strings.Builder
	for key := range members(object) {
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		b.WriteString(key)
		if b.Len() > utf8.UTFMax*room {
			break
		}
	}
	if b.Len() == 0 {
		return "none"
	}
	return clip(b.String(), room)
}
