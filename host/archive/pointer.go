package archive

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/weirhost/weir/host/internal/jsonscan"
	"github.com/weirhost/weir/host/internal/snippet"
	"github.com/weirhost/weir/sdk/tool"
)

// pointerOf returns a pointer as RFC 6901 writes it. It also accepts a URI fragment,
// and a pointer without its first slash.
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

// selectPointer returns the value that pointer names in a JSON text: a string as its
// plain text, every other value as its bytes in the text.
func selectPointer(text, pointer string) (string, *tool.Error) {
	value := json.RawMessage(strings.TrimSpace(text))
	if !json.Valid(value) {
		return "", tool.Errorf(tool.BadArgs, "use lines, grep, head or tail", "pointer needs a JSON text, and this result is not JSON")
	}
	if pointer != "" && pointer[0] != '/' {
		return "", badPart("a pointer begins with /")
	}
	done := ""
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		next, err := member(value, strings.NewReplacer("~1", "/", "~0", "~").Replace(part), done)
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

// member returns the member of value that one token of a pointer names. at is the
// pointer of value itself.
func member(value json.RawMessage, token, at string) (json.RawMessage, *tool.Error) {
	switch value[0] {
	case '{':
		var object map[string]json.RawMessage
		if json.Unmarshal(value, &object) != nil {
			break
		}
		if next, ok := object[token]; ok {
			return next, nil
		}
		return nil, tool.NewError(tool.BadArgs, tool.Textf("%v has no key %q", place(at), snippet.Clip(token, 100)), tool.Textf("its keys are %v", keysOf(string(value))))
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
			return nil, tool.Errorf(tool.BadArgs, "point at the array itself", "%v is an empty array", place(at))
		}
		return nil, tool.NewError(tool.BadArgs, tool.Textf("%v has no item %q", place(at), snippet.Clip(token, 100)), tool.Textf("its items are 0 to %d", len(array)-1))
	}
	return nil, tool.NewError(tool.BadArgs, tool.Textf("%v is a single value and has no members", place(at)), tool.Textf("point at it with %q", at))
}

// place returns how an error names the value at a pointer.
func place(at string) tool.Text {
	if at == "" {
		return tool.Textf("the result")
	}
	return tool.Textf("%s", snippet.Clip(at, 100))
}

// keysOf returns the first keys of an object in their order.
func keysOf(object string) tool.Text {
	const room = 200
	var b strings.Builder
	for key := range jsonscan.Members(object) {
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		b.WriteString(key)
		if b.Len() > utf8.UTFMax*room {
			break
		}
	}
	if b.Len() == 0 {
		return tool.Textf("none")
	}
	return tool.Textf("%s", snippet.Clip(b.String(), room))
}
