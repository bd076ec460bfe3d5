package registry

import (
	"encoding/json"
	"math"
	"strings"
	"time"

	"github.com/weirhost/weir/host/internal/schema"
	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/host/internal/tomlpos"
	"github.com/weirhost/weir/sdk/tool"
)

// A jsonWriter renders a decoded TOML value as JSON whose objects keep the
// order of the document.
type jsonWriter struct {
	schema.Buffer
	// bad receives values that JSON cannot represent.
	bad func(s *tomlpos.Position, what, fix tool.Text)
	// visible removes unseen characters from descriptions, titles and the like.
	visible bool
	// strict refuses them everywhere else, and bounds the texts.
	strict bool
}

// value writes v, whose position is s. It cleans text under keys that people read.
func (w *jsonWriter) value(v any, s *tomlpos.Position, key string) {
	switch v := v.(type) {
	case map[string]any:
		w.object(v, s)
	case []map[string]any:
		w.list(len(v), func(i int) { w.value(v[i], s.Item(i), "") })
	case []any:
		w.list(len(v), func(i int) { w.value(v[i], s.Item(i), "") })
	case string:
		w.text(v, s, key)
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			w.bad(s, tool.Textf("%v has no form in JSON", v), tool.Textf("write it as a string"))
			v = 0
		}
		w.Literal(v)
	case time.Time:
		w.bad(s, tool.Textf("a date or time has no form in JSON"), tool.Textf("write it as a string"))
		w.WriteString("null")
	default:
		w.Literal(v)
	}
}

func (w *jsonWriter) object(m map[string]any, s *tomlpos.Position) {
	w.WriteByte('{')
	n := 0
	for _, k := range s.Order {
		v, ok := m[k]
		if !ok {
			continue
		}
		if n > 0 {
			w.WriteByte(',')
		}
		n++
		w.name(k, s.Key(k))
		w.WriteByte(':')
		w.value(v, s.Key(k), k)
	}
	w.WriteByte('}')
}

// text writes a string. In a choice or a default every byte has a meaning, so
// text refuses invisible characters there instead of removing them.
func (w *jsonWriter) text(v string, s *tomlpos.Position, key string) {
	read := w.visible && schema.IsProse(key)
	if read {
		if v = text.Clean(v); len(v) > maxDescription {
			w.bad(s, tool.Textf("a %s of %d bytes", key, len(v)), tool.Textf("shorten it to %d bytes", maxDescription))
		}
	} else if w.strict && text.Clean(v) != v {
		w.bad(s, tool.Textf("it holds characters that cannot be seen"), hiddenFix())
	}
	w.Literal(v)
}

func hiddenFix() tool.Text {
	return tool.Textf("remove them: a person who approves the plugin must see all of it")
}

func (w *jsonWriter) name(k string, s *tomlpos.Position) {
	switch {
	case !w.strict:
	case len(k) > maxKey:
		w.bad(s, tool.Textf("a name of %d bytes", len(k)), tool.Textf("shorten it to %d bytes", maxKey))
	case text.Clean(k) != k || strings.ContainsAny(k, "\n\t"):
		w.bad(s, tool.Textf("a name holds characters that cannot be seen"), hiddenFix())
	}
	w.Literal(k)
}

func (w *jsonWriter) list(n int, one func(int)) {
	w.WriteByte('[')
	for i := range n {
		if i > 0 {
			w.WriteByte(',')
		}
		one(i)
	}
	w.WriteByte(']')
}

// asJSON returns the value of a key of t as JSON, or nil if the key is missing.
func (t table) asJSON(key string) json.RawMessage {
	v, ok := t.Get(key)
	if !ok {
		return nil
	}
	w := jsonWriter{visible: key == "params", strict: true, bad: func(s *tomlpos.Position, what, fix tool.Text) {
		t.d.add(s.Value, Problem{Key: t.Name(key), Msg: tool.Textf("%s: %s", t.Name(key), what), Fix: fix})
	}}
	w.value(v, t.Position.Key(key), "")
	if most := map[string]int{"params": maxParams, "args": maxExample, "args_zh": maxExample}[key]; w.Len() > most {
		t.Bad(key, tool.Textf("shorten it to %d bytes", most), "%s takes %d bytes as JSON", t.Name(key), w.Len())
	}
	return w.Bytes()
}
