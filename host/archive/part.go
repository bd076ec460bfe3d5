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

// A Part selects from an archived text. The zero Part is the whole text. Lines, Grep
// and Pointer exclude one another; Head, Tail and Offset apply to what they select.
// All numbers count lines or characters of the normalised text.
type Part struct {
	// First and Last select lines, counted from 1, both included. Last 0: to the end.
	First, Last int
	// Grep selects the lines that match an RE2 expression, with Context lines before
	// and after each. They are numbered as grep -n does: 12: before a match, 11-
	// before context, -- between groups.
	Grep    string
	Context int
	// Pointer selects a value of a JSON text (RFC 6901). A string is returned as its
	// plain text, every other value as its bytes in the text.
	Pointer string
	// Head and Tail select that many lines from the beginning or the end; with
	// both, a line -- is between them.
	Head, Tail int
	// Offset leaves out that many characters of the selection.
	Offset int
}

// badPart returns an error about the arguments of a load; its hint shows every way to
// select a part.
func badPart(format string, args ...any) *tool.Error {
	return tool.Errorf(tool.BadArgs, `write for example {"uuid": "…", "lines": "95-706"}, or one of grep, pointer, head, tail, offset instead of lines`, format, args...)
}

// argumentNames maps the names that models write to those of the tool. The caller
// reads keep_turns.
var argumentNames = map[string]string{
	"uuid": "uuid", "id": "uuid", "lines": "lines", "line": "lines", "range": "lines",
	"grep": "grep", "pattern": "grep", "regex": "grep", "context": "context",
	"pointer": "pointer", "json_pointer": "pointer", "path": "pointer",
	"head": "head", "tail": "tail", "offset": "offset", "keep_turns": "",
}

// uuidPattern finds an id within a text that was copied with it.
var uuidPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
})

// linesPattern reads 95-706, 95:706, 95..706, L95-L706, 95- and 95.
var linesPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*\[?\s*[Ll]?(\d+)\s*(?:(-|–|—|:|\.\.+|,|~|to|至|到)\s*[Ll]?(\d*))?\s*\]?\s*$`)
})

// ParsePart reads the arguments of load_tool_history as models write them: a number
// may be a string, lines may be "a-b", "a-", "a", [a, b] or a number, and an id may be
// within other text. Arguments that are null or "" count as missing. The error is a
// *tool.Error with code bad_args.
func ParsePart(args json.RawMessage) (uuid string, p Part, err error) {
	fields, err := partFields(args)
	if err != nil {
		return "", Part{}, err
	}
	if uuid, err = uuidOf(fields["uuid"]); err != nil {
		return "", Part{}, err
	}
	if raw, ok := fields["lines"]; ok {
		if p.First, p.Last, err = linesOf(raw); err != nil {
			return "", Part{}, err
		}
	}
	for _, f := range []struct {
		name string
		dest *string
	}{{"grep", &p.Grep}, {"pointer", &p.Pointer}} {
		if raw, ok := fields[f.name]; ok && json.Unmarshal(raw, f.dest) != nil {
			return "", Part{}, badPart("%s must be a string", f.name)
		}
	}
	for _, n := range []struct {
		name string
		dest *int
	}{{"context", &p.Context}, {"head", &p.Head}, {"tail", &p.Tail}, {"offset", &p.Offset}} {
		if raw, ok := fields[n.name]; ok {
			if *n.dest, ok = numberOf(raw); !ok {
				return "", Part{}, badPart("%s must be a whole number, 0 or more", n.name)
			}
		}
	}
	p.Pointer = pointerOf(p.Pointer)
	if err := p.check(); err != nil {
		return "", Part{}, err
	}
	return uuid, p, nil
}

// partFields returns the arguments by the names of the tool.
func partFields(args json.RawMessage) (map[string]json.RawMessage, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(args, &object); err != nil {
		return nil, badPart("the arguments are not a JSON object")
	}
	fields := make(map[string]json.RawMessage, len(object))
	for _, key := range slices.Sorted(maps.Keys(object)) { // sorted: the same arguments return the same error
		raw := bytes.TrimSpace(object[key])
		if s := string(raw); s == "null" || s == `""` {
			continue
		}
		name, ok := argumentNames[strings.ToLower(key)]
		if !ok {
			return nil, badPart("there is no argument %q", key)
		}
		if name == "" {
			continue
		}
		if _, twice := fields[name]; twice {
			return nil, badPart("%s is given twice", name)
		}
		fields[name] = raw
	}
	return fields, nil
}

func uuidOf(raw json.RawMessage) (string, error) {
	var s string
	if raw == nil || json.Unmarshal(raw, &s) != nil {
		return "", missingUUID()
	}
	if id := uuidPattern().FindString(s); id != "" {
		return strings.ToLower(id), nil
	}
	if s = strings.TrimSpace(s); s == "" {
		return "", missingUUID()
	}
	return s, nil
}

func missingUUID() *tool.Error {
	return badPart("uuid is missing; the placeholder or notice of the result has it")
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

func linesOf(raw json.RawMessage) (first, last int, err error) {
	s := string(raw)
	var quoted string
	if json.Unmarshal(raw, &quoted) == nil {
		s = quoted
	}
	m := linesPattern().FindStringSubmatch(s)
	if m == nil {
		return 0, 0, badPart(`lines must look like "95-706"`)
	}
	if first, err = strconv.Atoi(m[1]); err != nil {
		return 0, 0, badPart("line %s does not exist", m[1])
	}
	last = first
	if m[2] != "" {
		last = 0 // "95-": to the end
	}
	if m[3] != "" {
		if last, err = strconv.Atoi(m[3]); err != nil {
			return 0, 0, badPart("line %s does not exist", m[3])
		}
	}
	if last > 0 {
		first = max(first, 1) // some models count from 0
	}
	if first < 1 || m[3] != "" && last < first {
		return 0, 0, badPart(`lines must be "a-b" with 1 ≤ a ≤ b`)
	}
	return first, last, nil
}

// check returns an error if no text can have the part.
func (p Part) check() *tool.Error {
	ways := 0
	for _, asked := range []bool{p.First != 0 || p.Last != 0, p.Grep != "", p.Pointer != ""} {
		if asked {
			ways++
		}
	}
	switch {
	case ways > 1:
		return badPart("lines, grep and pointer exclude one another")
	case p.First < 0 || p.Last < 0 || p.Context < 0 || p.Head < 0 || p.Tail < 0 || p.Offset < 0:
		return badPart("numbers must be 0 or more")
	case p.Last > 0 && p.First > p.Last:
		return badPart("the first line, %d, is after the last, %d", p.First, p.Last)
	case p.Context > 0 && p.Grep == "":
		return badPart("context belongs to grep")
	}
	return nil
}
