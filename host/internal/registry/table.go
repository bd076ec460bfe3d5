package registry

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/host/internal/tomlpos"
	"github.com/weirhost/weir/sdk/tool"
)

// A doc collects the problems of one manifest.
type doc struct {
	file     string
	text     string
	problems []Problem
	reported [2]int // errors and warnings
}

// MaxReported bounds the errors, and the warnings, of one manifest. To find a
// position costs a pass over the text, and more problems help no author.
const MaxReported = 50

// add adds a problem at a byte offset.
func (d *doc) add(at int, p Problem) {
	n := &d.reported[0]
	if p.Warning {
		n = &d.reported[1]
	}
	if *n++; *n > MaxReported {
		return
	}
	p.File = d.file
	p.Line, p.Col = tomlpos.LineCol(d.text, at)
	d.problems = append(d.problems, p.sanitize())
}

// wrong adds an error at a value, or at the table without one.
func (d *doc) wrong(at *tomlpos.Position, name string, msg, fix tool.Text) {
	d.add(at.Value, Problem{Key: name, Msg: msg, Fix: fix})
}

// A table decodes one TOML table, key by key. Unknown keys are warnings. The zero
// table has no keys.
type table struct {
	*tomlpos.Table
	d *doc
}

// warn is bad for what does not keep the plugin from running.
func (t table) warn(key string, fix tool.Text, format string, args ...any) {
	t.d.add(t.Position.Key(key).Value, Problem{Key: t.Name(key), Msg: tool.Textf(format, args...), Fix: fix, Warning: true})
}

// str returns a short string without the characters that a reader cannot see.
func (t table) str(key, example string) string {
	return t.within(key, example, maxValue)
}

func (t table) within(key, example string, limit int) string {
	s, _ := tomlpos.Typed[string](t.Table, key, tool.Textf("a string, for example %s = %q", key, example))
	c := text.Clean(s)
	if c != s {
		t.warn(key, tool.Textf("remove them from the file"), "%s holds invisible or control characters, which are left out", t.Name(key))
	}
	if c = strings.TrimSpace(c); len(c) > limit {
		t.Bad(key, tool.Textf("shorten it to %d bytes", limit), "%s is %d bytes long", t.Name(key), len(c))
	}
	return c
}

// text is str for what people and models read: at most maxDescription bytes.
func (t table) text(key string) string { return t.within(key, "…", maxDescription) }

func (t table) boolean(key string) bool {
	b, _ := tomlpos.Typed[bool](t.Table, key, tool.Textf("%s = true or %s = false", key, key))
	return b
}

// whole returns a whole number that is at least low; 0 when it is not there.
func (t table) whole(key string, example int, low int64, why tool.Text) int {
	n, ok := tomlpos.Typed[int64](t.Table, key, tool.Textf("a whole number, for example %s = %d", key, example))
	if !ok {
		return 0
	}
	if n > math.MaxInt32 {
		t.Bad(key, tool.Textf("write at most %d", math.MaxInt32), "%s is %d", t.Name(key), n)
		return 0
	}
	if n < low {
		t.Bad(key, tool.Textf("write at least %d%s", low, why), "%s is %d", t.Name(key), n)
		return 0
	}
	return int(n)
}

// share returns a number from 0 to 1.
func (t table) share(key string) float64 {
	raw, ok := t.Get(key)
	if !ok {
		return 0
	}
	f, isFloat := raw.(float64)
	if n, isInt := raw.(int64); isInt {
		f, isFloat = float64(n), true
	}
	if !isFloat || !(f >= 0 && f <= 1) {
		t.Bad(key, tool.Textf("write a share of the budget from 0 to 1, for example %s = 0.4", key), "%s is %v", t.Name(key), show(raw))
		return 0
	}
	return f
}

// duration returns a length of time from 0 to high; 0 when it is not there.
func (t table) duration(key, example string, high time.Duration) time.Duration {
	s, ok := tomlpos.Typed[string](t.Table, key, tool.Textf("a length of time in quotes, for example %s = %q", key, example))
	if !ok {
		return 0
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 || d > high {
		t.Bad(key, tool.Textf("write a length of time from 0s to %s, for example %s = %q", plain(high), key, example), "%s is %q", t.Name(key), s)
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
func (t table) bytes(key string, low tool.Bytes) (b tool.Bytes) {
	raw, ok := t.Get(key)
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
		t.Bad(key, tool.Textf("write an amount of at least %s, for example %s = %q", low, key, "64MiB"), "%s is %s", t.Name(key), show(raw))
		return 0
	}
	return b
}

// oneOf returns a string that is one of the choices; the first one when it is not there.
func (t table) oneOf(key string, choices ...string) string {
	s, ok := tomlpos.Typed[string](t.Table, key, tool.Textf("a string, for example %s = %q", key, choices[0]))
	if !ok {
		return choices[0]
	}
	if !slices.Contains(choices, s) {
		t.Bad(key, tool.Textf("write one of %s", strings.Join(choices, ", ")), "%s is %q", t.Name(key), s)
		return choices[0]
	}
	return s
}

// strings returns a list of strings; each is called with its position.
func (t table) strings(key string, each func(s string, at int)) {
	list, ok := tomlpos.Typed[[]any](t.Table, key, tool.Textf("a list of strings, for example %s = [\"…\"]", key))
	if !ok {
		return
	}
	for i, e := range t.Some(key, list, most(key)) {
		s, isText := e.(string)
		if !isText {
			t.BadItem(key, i, e, tool.Textf("write a string"))
			continue
		}
		each(s, t.Position.Key(key).Item(i).Value)
	}
}

// most is how many elements of a list are read.
func most(key string) int {
	switch key {
	case "tool":
		return maxTools
	case "examples":
		return maxExamples
	}
	return maxList
}

// table returns a table of the table; the zero table when it is not there.
func (t table) table(key string) table { return table{t.Child(key), t.d} }

// tables returns the tables of a list.
func (t table) tables(key string) (out []table) {
	for _, c := range t.Children(key, most(key)) {
		out = append(out, table{c, t.d})
	}
	return out
}

// need notes an error when the key is missing.
func (t table) need(key string, fix tool.Text) bool {
	if _, ok := t.Values[key]; ok {
		return true
	}
	at := t.Position.Value
	t.d.add(at, Problem{Key: t.Name(key), Msg: tool.Textf("%s is missing", t.Name(key)), Fix: fix})
	return false
}

// done adds a warning for each unknown key.
func (t table) done() {
	for _, key := range t.Unknown() {
		var fix tool.Text
		if near := text.Nearest(key, t.Known()); len(near) > 0 {
			fix = tool.Textf("perhaps %s is meant", near[0])
		}
		t.d.add(t.Position.Key(key).At, Problem{Key: t.Name(key), Msg: tool.Textf("%s is not a key this host knows, and is ignored", t.Name(key)), Fix: fix, Warning: true})
	}
}

// show prints a value the way it is written, shortened, or its kind when it is
// not a simple one.
func show(v any) tool.Text {
	switch v := v.(type) {
	case string:
		return tool.Textf("%.60q", v)
	case int64, float64, bool:
		return tool.Textf("%v", v)
	}
	return tomlpos.Kind(v)
}
