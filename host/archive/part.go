package archive

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/weirhost/weir/sdk/tool"
)

// A language is the one in which a model is told what is wrong.
type language tool.Locale

// say takes what is said in English or in Chinese.
func (l language) say(en, zh string) string {
	if tool.Locale(l) == tool.Zh {
		return zh
	}
	return en
}

// bad is an error about the arguments of a load; the hint shows every way to
// ask for a part.
func (l language) bad(en, zh string, args ...any) *tool.Error {
	return tool.Errorf(tool.BadArgs, l.say(
		`write for example {"uuid": "…", "lines": "95-706"}, or one of grep, pointer, head, tail, offset instead of lines`,
		`例如 {"uuid": "…", "lines": "95-706"}，也可以用 grep、pointer、head、tail、offset 之一代替 lines`), l.say(en, zh), args...)
}

// argumentNames maps what models write to what is meant. keep_turns is the
// caller's business.
var argumentNames = map[string]string{
	"uuid": "uuid", "id": "uuid", "lines": "lines", "line": "lines", "range": "lines",
	"grep": "grep", "pattern": "grep", "regex": "grep", "context": "context",
	"pointer": "pointer", "json_pointer": "pointer", "path": "pointer",
	"head": "head", "tail": "tail", "offset": "offset", "keep_turns": "",
}

// uuidPattern finds an id inside of whatever it was copied with.
var uuidPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
})

// linesPattern reads 95-706, 95:706, 95..706, L95-L706, 95- and 95.
var linesPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*\[?\s*[Ll]?(\d+)\s*(?:(-|–|—|:|\.\.+|,|~|to|至|到)\s*[Ll]?(\d*))?\s*\]?\s*$`)
})

// ParsePart reads the arguments of load_tool_history as models write them:
// numbers may be strings, lines may be "a-b", "a-", "a", [a, b] or a number, an
// id may be wrapped in what it was copied with. Arguments that are null or ""
// are as good as absent. The error is a *tool.Error with code bad_args, in
// language speak, which the Part keeps for what reading it will complain of.
func ParsePart(args json.RawMessage, speak tool.Locale) (uuid string, p Part, err error) {
	l := language(speak)
	p.Locale = speak
	fields, err := l.partFields(args)
	if err != nil {
		return "", Part{}, err
	}
	if uuid, err = l.uuidOf(fields["uuid"]); err != nil {
		return "", Part{}, err
	}
	if raw, ok := fields["lines"]; ok {
		if p.First, p.Last, err = l.linesOf(raw); err != nil {
			return "", Part{}, err
		}
	}
	for _, f := range []struct {
		name string
		dest *string
	}{{"grep", &p.Grep}, {"pointer", &p.Pointer}} {
		if raw, ok := fields[f.name]; ok && json.Unmarshal(raw, f.dest) != nil {
			return "", Part{}, l.bad("%s must be a string", "%s 必须是字符串", f.name)
		}
	}
	for _, n := range []struct {
		name string
		dest *int
	}{{"context", &p.Context}, {"head", &p.Head}, {"tail", &p.Tail}, {"offset", &p.Offset}} {
		if raw, ok := fields[n.name]; ok {
			if *n.dest, ok = numberOf(raw); !ok {
				return "", Part{}, l.bad("%s must be a whole number, not negative", "%s 必须是非负整数", n.name)
			}
		}
	}
	p.Pointer = pointerOf(p.Pointer)
	if err := p.check(); err != nil {
		return "", Part{}, err
	}
	return uuid, p, nil
}

// partFields splits the object and gives every argument its proper name.
func (l language) partFields(args json.RawMessage) (map[string]json.RawMessage, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(args, &object); err != nil {
		return nil, l.bad("the arguments are not a JSON object", "参数不是 JSON 对象")
	}
	fields := make(map[string]json.RawMessage, len(object))
	for _, key := range slices.Sorted(maps.Keys(object)) { // sorted, so that the complaint is the same every time
		raw := bytes.TrimSpace(object[key])
		if s := string(raw); s == "null" || s == `""` {
			continue
		}
		name, ok := argumentNames[strings.ToLower(key)]
		if !ok {
			return nil, l.bad("there is no argument %q", "没有参数 %q", key)
		}
		if name == "" {
			continue
		}
		if _, twice := fields[name]; twice {
			return nil, l.bad("%s is given twice", "%s 出现了两次", name)
		}
		fields[name] = raw
	}
	return fields, nil
}

func (l language) uuidOf(raw json.RawMessage) (string, error) {
	var s string
	if raw == nil || json.Unmarshal(raw, &s) != nil {
		return "", l.noUUID()
	}
	if id := uuidPattern().FindString(s); id != "" {
		return strings.ToLower(id), nil
	}
	if s = strings.TrimSpace(s); s == "" {
		return "", l.noUUID()
	}
	return s, nil
}

func (l language) noUUID() *tool.Error {
	return l.bad("uuid is missing; it stands in the placeholder or notice of the result", "缺少 uuid；它写在该结果的占位符或截断提示中")
}

// numberOf reads 12, 12.0 and "12".
func numberOf(raw json.RawMessage) (int, bool) {
	s := string(raw)
	var quoted string
	if json.Unmarshal(raw, &quoted) == nil {
		s = strings.TrimSpace(quoted)
	}
	n, err := strconv.Atoi(strings.TrimSuffix(s, ".0"))
	return n, err == nil && n >= 0
}

func (l language) linesOf(raw json.RawMessage) (first, last int, err error) {
	s := string(raw)
	var quoted string
	if json.Unmarshal(raw, &quoted) == nil {
		s = quoted
	}
	m := linesPattern().FindStringSubmatch(s)
	if m == nil {
		return 0, 0, l.bad(`lines must look like "95-706"`, `lines 应写成 "95-706"`)
	}
	if first, err = strconv.Atoi(m[1]); err != nil {
		return 0, 0, l.bad("line %s does not exist", "第 %s 行不存在", m[1])
	}
	last = first
	if m[2] != "" {
		last = 0 // "95-": to the end
	}
	if m[3] != "" {
		if last, err = strconv.Atoi(m[3]); err != nil {
			return 0, 0, l.bad("line %s does not exist", "第 %s 行不存在", m[3])
		}
	}
	if last > 0 {
		first = max(first, 1) // some count from 0
	}
	if first < 1 || m[3] != "" && last < first {
		return 0, 0, l.bad(`lines must be "a-b" with 1 ≤ a ≤ b`, `lines 应为 "a-b"，且 1 ≤ a ≤ b`)
	}
	return first, last, nil
}

// check refuses what no text could answer.
func (p Part) check() *tool.Error {
	l, ways := language(p.Locale), 0
	for _, asked := range []bool{p.First != 0 || p.Last != 0, p.Grep != "", p.Pointer != ""} {
		if asked {
			ways++
		}
	}
	switch {
	case ways > 1:
		return l.bad("lines, grep and pointer exclude one another", "lines、grep 和 pointer 不能同时使用")
	case p.First < 0 || p.Last < 0 || p.Context < 0 || p.Head < 0 || p.Tail < 0 || p.Offset < 0:
		return l.bad("numbers must not be negative", "数字不能为负")
	case p.Last > 0 && p.First > p.Last:
		return l.bad("the first line, %d, lies behind the last, %d", "首行 %d 在末行 %d 之后", p.First, p.Last)
	case p.Context > 0 && p.Grep == "":
		return l.bad("context belongs to grep", "context 只能与 grep 一起使用")
	}
	return nil
}
