package archive

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/weirhost/weir/host/internal/jsonscan"
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
func (l language) pick(text, pointer string) (string, *tool.Error) {
	value := json.RawMessage(strings.TrimSpace(text))
	if !json.Valid(value) {
		return "", &tool.Error{Code: tool.BadArgs, Hint: l.say("use lines, grep, head or tail", "请用 lines、grep、head 或 tail"),
			Msg: l.say("pointer needs a JSON text, and this result is none", "pointer 只适用于 JSON，而该结果不是 JSON")}
	}
	if pointer != "" && pointer[0] != '/' {
		return "", l.bad("a pointer begins with /", "pointer 应以 / 开头")
	}
	done := ""
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		next, err := l.step(value, strings.NewReplacer("~1", "/", "~0", "~").Replace(part), done)
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
func (l language) step(value json.RawMessage, token, at string) (json.RawMessage, *tool.Error) {
	switch value[0] {
	case '{':
		var object map[string]json.RawMessage
		if json.Unmarshal(value, &object) != nil {
			break
		}
		if next, ok := object[token]; ok {
			return next, nil
		}
		return nil, tool.Errorf(tool.BadArgs, l.say("its keys are ", "它的键：")+l.keysOf(string(value)), l.say("%s has no key %q", "%s 没有键 %q"), l.where(at), clip(token, 100))
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
			return nil, tool.Errorf(tool.BadArgs, l.say("point at the array itself", "请指向数组本身"), l.say("%s is an empty array", "%s 是空数组"), l.where(at))
		}
		return nil, tool.Errorf(tool.BadArgs, l.say("its items are 0 to ", "它的元素为 0 至 ")+strconv.Itoa(len(array)-1), l.say("%s has no item %q", "%s 没有元素 %q"), l.where(at), clip(token, 100))
	}
	return nil, tool.Errorf(tool.BadArgs, l.say("point at it with ", "请直接指向它：")+strconv.Quote(at), l.say("%s is a single value and has nothing below it", "%s 是单个值，下面没有内容"), l.where(at))
}

func (l language) where(at string) string {
	if at == "" {
		return l.say("the result", "该结果")
	}
	return clip(at, 100)
}

// keysOf lists the keys of an object in their order, as many as a hint bears.
func (l language) keysOf(object string) string {
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
		return l.say("none", "（无）")
	}
	return clip(b.String(), room)
}
