package toolschema

import (
	"bytes"
	"encoding/json"
	"slices"
)

// maxNesting bounds the levels of a schema that are read.
const maxNesting = 64

// An object is a JSON object with its keys in their order. Values are *object, []any,
// string, json.Number, bool and nil.
type object struct {
	keys   []string
	values map[string]any
}

func (o *object) set(key string, v any) {
	if o.values == nil {
		o.values = map[string]any{}
	}
	if _, ok := o.values[key]; !ok {
		o.keys = append(o.keys, key)
	}
	o.values[key] = v
}

func (o *object) get(key string) any {
	if o == nil {
		return nil
	}
	return o.values[key]
}

func (o *object) has(key string) bool {
	_, ok := o.values[key]
	return ok
}

// parse reads one JSON value. It returns false if raw is none, or is nested too deeply.
func parse(raw []byte) (any, bool) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	v, ok := value(dec, 0)
	return v, ok && !dec.More()
}

func value(dec *json.Decoder, level int) (any, bool) {
	t, err := dec.Token()
	if err != nil || level > maxNesting {
		return nil, false
	}
	switch t {
	case json.Delim('{'):
		o := &object{values: map[string]any{}}
		for dec.More() {
			key, err := dec.Token()
			name, named := key.(string)
			v, ok := value(dec, level+1)
			if err != nil || !named || !ok {
				return nil, false
			}
			o.set(name, v)
		}
		_, err = dec.Token()
		return o, err == nil
	case json.Delim('['):
		list := []any{}
		for dec.More() {
			v, ok := value(dec, level+1)
			if !ok {
				return nil, false
			}
			list = append(list, v)
		}
		_, err = dec.Token()
		return list, err == nil
	}
	return t, true
}

// encode writes a value without HTML escapes, because models read it.
func encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	write(&b, enc, v)
	return b.Bytes()
}

func write(b *bytes.Buffer, enc *json.Encoder, v any) {
	switch v := v.(type) {
	case *object:
		b.WriteByte('{')
		for i, key := range v.keys {
			if i > 0 {
				b.WriteByte(',')
			}
			write(b, enc, key)
			b.WriteByte(':')
			write(b, enc, v.values[key])
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			write(b, enc, e)
		}
		b.WriteByte(']')
	default:
		if enc.Encode(v) != nil { // strings, numbers, booleans and null always encode
			b.WriteString("null\n")
		}
		b.Truncate(b.Len() - 1) // the encoder's newline
	}
}

// same reports whether two values are equal. The order of keys counts where they are
// names of properties, and not where they are keywords.
func same(a, b any, names bool) bool {
	switch a := a.(type) {
	case *object:
		b, ok := b.(*object)
		if !ok || len(a.keys) != len(b.keys) || names && !slices.Equal(a.keys, b.keys) {
			return false
		}
		for key, v := range a.values {
			w, ok := b.values[key]
			if !ok || !same(v, w, !names && key == "properties") {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, func(x, y any) bool { return same(x, y, false) })
	}
	return a == b
}

// size returns about how many bytes a value takes.
func size(v any) int {
	n := 4
	switch v := v.(type) {
	case *object:
		for key, w := range v.values {
			n += len(key) + size(w)
		}
	case []any:
		for _, w := range v {
			n += size(w)
		}
	case string:
		n += len(v)
	case json.Number:
		n += len(v)
	}
	return n
}
