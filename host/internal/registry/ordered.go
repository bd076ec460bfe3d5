package registry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/weirhost/weir/host/internal/spots"
)

// A jsonWriter renders a decoded TOML value as JSON whose objects keep the
// order of the document.
type jsonWriter struct {
	bytes.Buffer
	// bad is told about values JSON cannot hold.
	bad func(s *spots.Spot, what string)
	// visible removes unseen characters from descriptions, titles and the like.
	visible bool
}

// value writes v, which stands at s. Under a key that people read, text is cleaned.
func (w *jsonWriter) value(v any, s *spots.Spot, key string) {
	switch v := v.(type) {
	case map[string]any:
		w.object(v, s)
	case []map[string]any:
		w.list(len(v), func(i int) { w.value(v[i], s.Item(i), "") })
	case []any:
		w.list(len(v), func(i int) { w.value(v[i], s.Item(i), "") })
	case string:
		if w.visible && (key == "description" || key == "title") {
			v = clean(v)
		}
		w.literal(v)
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			w.bad(s, fmt.Sprintf("%v has no form in JSON", v))
			v = 0
		}
		w.literal(v)
	case time.Time:
		w.bad(s, "a date or time has no form in JSON")
		w.WriteString("null")
	default:
		w.literal(v)
	}
}

func (w *jsonWriter) object(m map[string]any, s *spots.Spot) {
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
		w.literal(k)
		w.WriteByte(':')
		w.value(v, s.Key(k), k)
	}
	w.WriteByte('}')
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

// literal writes a string, number or truth value, without HTML's escapes: a
// model reads this text.
func (w *jsonWriter) literal(v any) {
	enc := json.NewEncoder(&w.Buffer)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		w.WriteString("null")
		return
	}
	w.Truncate(w.Len() - 1) // the encoder's newline
}

// asJSON renders the value of a key of t; nil when the key is not there.
func (t *table) asJSON(key string) json.RawMessage {
	v, ok := t.get(key)
	if !ok {
		return nil
	}
	w := jsonWriter{visible: key == "params", bad: func(s *spots.Spot, what string) {
		t.d.add(s.Value, Problem{Key: t.name(key), Msg: t.name(key) + ": " + what, Fix: "write it as a string"})
	}}
	w.value(v, t.spot.Key(key), "")
	return w.Bytes()
}
