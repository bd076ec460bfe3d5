package registry

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/weirhost/weir/host/internal/spots"
	"github.com/weirhost/weir/sdk/tool"
)

// A doc collects the problems of one manifest.
type doc struct {
	file     string
	text     string
	problems []Problem
	told     [2]int // errors and warnings
}

// maxTold is how many errors, and how many warnings, are told of one manifest:
// each costs a walk through the text, and nobody reads more.
const maxTold = 50

// add notes a problem at a byte offset.
func (d *doc) add(at int, p Problem) {
	n := &d.told[0]
	if p.Warning {
		n = &d.told[1]
	}
	if *n++; *n > maxTold {
		return
	}
	p.File = d.file
	p.Line, p.Col = spots.LineCol(d.text, at)
	d.problems = append(d.problems, p.tame())
}

// A table reads one TOML table, key by key, and remembers which keys it was
// asked for: the others are unknown. A nil table has no keys.
type table struct {
	d     *doc
	path  string // for example tool.output
	m     map[string]any
	spot  *spots.Spot
	known []string
}

// name is a key's full name, as messages show it.
func (t *table) name(key string) string {
	if t.path == "" {
		return key
	}
	return t.path + "." + key
}

// bad notes an error at the key's value; without the key, at the table.
func (t *table) bad(key, fix, format string, args ...any) {
	t.d.add(t.spot.Key(key).Value, Problem{Key: t.name(key), Msg: fmt.Sprintf(format, args...), Fix: fix})
}

// warn is bad for what does not keep the plugin from running.
func (t *table) warn(key, fix, format string, args ...any) {
	t.d.add(t.spot.Key(key).Value, Problem{Key: t.name(key), Msg: fmt.Sprintf(format, args...), Fix: fix, Warning: true})
}

// get returns a key's raw value and marks the key as known.
func (t *table) get(key string) (any, bool) {
	if t == nil {
		return nil, false
	}
	t.known = append(t.known, key)
	v, ok := t.m[key]
	return v, ok
}

// typed returns the key's value if it is a T, and notes an error if it is
// something else.
func typed[T any](t *table, key, want string) (v T, ok bool) {
	raw, there := t.get(key)
	if !there {
		return v, false
	}
	if v, ok = raw.(T); !ok {
		t.bad(key, "write "+want, "%s is %s", t.name(key), kindOf(raw))
	}
	return v, ok
}

// str returns a short string without the characters that a reader cannot see.
func (t *table) str(key, example string) string {
	return t.within(key, example, maxValue)
}

func (t *table) within(key, example string, limit int) string {
	s, _ := typed[string](t, key, fmt.Sprintf("a string, for example %s = %q", key, example))
	c := clean(s)
	if c != s {
		t.warn(key, "remove them from the file", "%s holds invisible or control characters, which are left out", t.name(key))
	}
	if c = strings.TrimSpace(c); len(c) > limit {
		t.bad(key, fmt.Sprintf("shorten it to %d bytes", limit), "%s is %d bytes long", t.name(key), len(c))
	}
	return c
}

// text is str for what people and models read: at most limit bytes.
func (t *table) text(key string, limit int) string { return t.within(key, "…", limit) }

func (t *table) boolean(key string) bool {
	b, _ := typed[bool](t, key, fmt.Sprintf("%s = true or %s = false", key, key))
	return b
}

// whole returns a whole number that is at least low; 0 when it is not there.
func (t *table) whole(key string, example int, low int64, why string) int {
	n, ok := typed[int64](t, key, fmt.Sprintf("a whole number, for example %s = %d", key, example))
	if !ok {
		return 0
	}
	if n > math.MaxInt32 {
		t.bad(key, fmt.Sprintf("write at most %d", math.MaxInt32), "%s is %d", t.name(key), n)
		return 0
	}
	if n < low {
		t.bad(key, fmt.Sprintf("write at least %d%s", low, why), "%s is %d", t.name(key), n)
		return 0
	}
	return int(n)
}

// share returns a number from 0 to 1.
func (t *table) share(key string) float64 {
	raw, ok := t.get(key)
	if !ok {
		return 0
	}
	f, isFloat := raw.(float64)
	if n, isInt := raw.(int64); isInt {
		f, isFloat = float64(n), true
	}
	if !isFloat || !(f >= 0 && f <= 1) {
		t.bad(key, fmt.Sprintf("write a share of the budget from 0 to 1, for example %s = 0.4", key), "%s is %v", t.name(key), show(raw))
		return 0
	}
	return f
}

// duration returns a length of time from 0 to high; 0 when it is not there.
func (t *table) duration(key, example string, high time.Duration) time.Duration {
	s, ok := typed[string](t, key, fmt.Sprintf("a length of time in quotes, for example %s = %q", key, example))
	if !ok {
		return 0
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 || d > high {
		t.bad(key, fmt.Sprintf("write a length of time from 0s to %s, for example %s = %q", plain(high), key, example), "%s is %q", t.name(key), s)
		return 0
	}
	return d
}

// plain prints a length of time without its zero parts.
func plain(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// bytes returns an amount of memory of at least low.
func (t *table) bytes(key string, low tool.Bytes) (b tool.Bytes) {
	raw, ok := t.get(key)
	if !ok {
		return 0
	}
	text := fmt.Sprint(raw)
	switch raw.(type) {
	case string, int64:
	default:
		text = ""
	}
	if err := b.UnmarshalText([]byte(text)); err != nil || b < low || text == "" {
		t.bad(key, fmt.Sprintf("write an amount of at least %s, for example %s = %q", low, key, "64MiB"), "%s is %s", t.name(key), show(raw))
		return 0
	}
	return b
}

// oneOf returns a string that is one of the choices; the first one when it is not there.
func (t *table) oneOf(key string, choices ...string) string {
	s, ok := typed[string](t, key, fmt.Sprintf("a string, for example %s = %q", key, choices[0]))
	if !ok {
		return choices[0]
	}
	if !slices.Contains(choices, s) {
		t.bad(key, "write one of "+strings.Join(choices, ", "), "%s is %q", t.name(key), s)
		return choices[0]
	}
	return s
}

// strings returns a list of strings; each is called with its spot.
func (t *table) strings(key string, each func(s string, at int)) {
	list, ok := typed[[]any](t, key, fmt.Sprintf("a list of strings, for example %s = [\"…\"]", key))
	if !ok {
		return
	}
	for i, e := range t.some(key, list) {
		at := t.spot.Key(key).Item(i).Value
		s, isText := e.(string)
		if !isText {
			t.d.add(at, Problem{Key: t.name(key), Msg: fmt.Sprintf("%s[%d] is %s", t.name(key), i, kindOf(e)), Fix: "write a string"})
			continue
		}
		each(s, at)
	}
}

// some holds a list to a length that can be read, and returns that much of it.
func (t *table) some(key string, list []any) []any {
	most, ok := map[string]int{"tool": maxTools, "examples": maxExamples}[key]
	if !ok {
		most = maxList
	}
	if len(list) <= most {
		return list
	}
	t.bad(key, fmt.Sprintf("shorten it to %d", most), "%s holds %d, and at most %d are read", t.name(key), len(list), most)
	return list[:most]
}

// table returns a table of the table; nil when it is not there.
func (t *table) table(key string) *table {
	m, ok := typed[map[string]any](t, key, fmt.Sprintf("a table: [%s]", t.name(key)))
	if !ok {
		return nil
	}
	return &table{d: t.d, path: t.name(key), m: m, spot: t.spot.Key(key)}
}

// tables returns the tables of a list, be it written as [[key]] or inline.
func (t *table) tables(key string) []*table {
	raw, ok := t.get(key)
	if !ok {
		return nil
	}
	list, ok := raw.([]any)
	if maps, headers := raw.([]map[string]any); headers {
		ok = true
		for _, m := range maps {
			list = append(list, m)
		}
	}
	if !ok {
		t.bad(key, fmt.Sprintf("write a list of tables: %s = [{ … }], or [[%s]]", key, t.name(key)), "%s is %s", t.name(key), kindOf(raw))
	}
	var out []*table
	for i, e := range t.some(key, list) {
		s := t.spot.Key(key).Item(i)
		if m, isTable := e.(map[string]any); isTable {
			out = append(out, &table{d: t.d, path: t.name(key), m: m, spot: s})
			continue
		}
		t.d.add(s.Value, Problem{Key: t.name(key), Msg: fmt.Sprintf("%s[%d] is %s", t.name(key), i, kindOf(e)), Fix: "write a table: { … }"})
	}
	return out
}

// need notes an error when the key is missing.
func (t *table) need(key, fix string) bool {
	if _, ok := t.m[key]; ok {
		return true
	}
	at := t.spot.Value
	t.d.add(at, Problem{Key: t.name(key), Msg: t.name(key) + " is missing", Fix: fix})
	return false
}

// done warns about the keys that nobody asked for.
func (t *table) done() {
	if t == nil {
		return
	}
	for _, key := range t.spot.Order {
		if slices.Contains(t.known, key) {
			continue
		}
		fix := ""
		if near := Nearest(key, t.known); len(near) > 0 {
			fix = "perhaps " + near[0] + " is meant"
		}
		t.d.add(t.spot.Key(key).At, Problem{Key: t.name(key), Msg: t.name(key) + " is not a key this host knows, and is ignored", Fix: fix, Warning: true})
	}
}

// kindOf names the type of a decoded value for people.
func kindOf(v any) string {
	switch v := v.(type) {
	case string:
		return "a string"
	case int64:
		return "a whole number"
	case float64:
		return "a number with a fraction"
	case bool:
		return "true or false"
	case time.Time:
		return "a date or time"
	case map[string]any:
		return "a table"
	case []any, []map[string]any:
		return "a list"
	default:
		return fmt.Sprintf("%v", v)
	}
}

// show prints a value the way it is written, shortened, or its kind when it is
// not a simple one.
func show(v any) string {
	switch v := v.(type) {
	case string:
		return fmt.Sprintf("%.60q", v)
	case int64, float64, bool:
		return fmt.Sprint(v)
	}
	return kindOf(v)
}
