// Package callargs reads the arguments of tool calls, strictly, and writes them in
// one canonical form. Strictly means: one JSON object, no text after it, no key
// twice, no number outside a float's range, bounded nesting. A model that makes a
// mistake gets an error it can act on; a guest never sees arguments that two JSON
// parsers could read differently.
package callargs

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/weirhost/weir/host/internal/jsonscan"
	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/sdk/tool"
)

const (
	maxDepth      = 64
	maxNumberSize = 400 // bytes
	maxValues     = 1_000_000
	maxNames      = 100_000 // each costs several times as much as a value

	// manySize is the size in bytes from which Decode counts values and names: fewer
	// bytes cannot hold too many.
	manySize = 4 * maxNames
	// largeSize is the size in bytes from which Decode looks for long strings.
	largeSize = 1 << 20
	// longString is the size in bytes from which skipping a string saves time.
	longString = 64 << 10
)

const hint = `write the arguments as one JSON object, for example {"name": "value"}`

func invalid(format string, args ...any) *tool.Error {
	return tool.Errorf(tool.BadArgs, hint, format, args...)
}

// Decode returns the arguments as a map. Empty input is an empty object; numbers
// are json.Number. canonical is what Encode returns for them if raw has that form
// already, else nil. The error is for the model, with code BadArgs, or TooLarge for
// too many values or names: each needs up to some hundred bytes, and names are sorted
// and compared with the declared ones.
func Decode(raw json.RawMessage) (args map[string]any, canonical json.RawMessage, fail *tool.Error) {
	if len(raw) >= manySize {
		switch n := jsonscan.Count(raw); {
		case n.Values > maxValues:
			return nil, nil, tool.Errorf(tool.TooLarge, "pass less text", "the arguments have more than %d values", maxValues)
		case n.Names > maxNames:
			return nil, nil, tool.Errorf(tool.TooLarge, "pass fewer names", "the arguments have more than %d names", maxNames)
		}
	}
	if len(raw) >= largeSize {
		if args, ok := decodeLong(raw, longString); ok {
			return args, nil, nil
		}
	} else if args, tight, ok := jsonscan.Simple(string(raw)); ok {
		if tight {
			canonical = raw
		}
		return args, canonical, nil
	}
	args, err := decode(raw)
	if err == nil {
		return args, nil, nil
	}
	if e, ok := errors.AsType[*tool.Error](err); ok {
		return nil, nil, e
	}
	return nil, nil, invalid("the arguments are not valid JSON: %s", err)
}

// Encode returns the arguments as JSON in canonical form: keys sorted, no white
// space, no HTML escapes. It copies a long text once.
func Encode(args map[string]any) (json.RawMessage, *tool.Error) {
	size := 0
	AnyString(args, func(s string) bool {
		size += len(s) + len(s)/16 + 8 // an escape for each 16 characters
		return false
	})
	b, err := appendValue(make([]byte, 0, size+16), args)
	if err != nil {
		return nil, invalid("the arguments are not valid JSON: %s", err)
	}
	return b, nil
}

func appendValue(b []byte, v any) (_ []byte, err error) {
	switch v := v.(type) {
	case string:
		return jsonscan.AppendString(b, v), nil
	case map[string]any:
		if v == nil {
			return append(b, "null"...), nil
		}
		b = append(b, '{')
		for i, k := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = appendValue(append(jsonscan.AppendString(b, k), ':'), v[k]); err != nil {
				return nil, err
			}
		}
		return append(b, '}'), nil
	case []any:
		b = append(b, '[')
		for i, e := range v {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = appendValue(b, e); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	}
	text, err := json.Marshal(v) // a number, true, false or null
	return append(b, text...), err
}

// decodeLong reads arguments that are mostly a few strings of at least long bytes,
// several times faster than decode: the decoder reads a short name in place of each
// long string, and the string replaces the name afterwards. A name begins with NUL,
// which no other string of the input contains. ok is false if the input is not of
// this kind or is invalid; decode then reports the position of the fault.
func decodeLong(raw json.RawMessage, long int) (args map[string]any, ok bool) {
	if bytes.Contains(raw, []byte(`\u0000`)) {
		return nil, false
	}
	input := string(raw)
	var short bytes.Buffer
	names := map[string]string{}
	last := 0
	for begin, end := range jsonscan.Long(input, long) {
		name := strconv.Itoa(len(names))
		names["\x00"+name] = input[begin:end]
		short.WriteString(input[last:begin])
		short.WriteString(`\u0000` + name)
		last = end
	}
	short.WriteString(input[last:])
	args, err := decode(short.Bytes())
	if err != nil {
		return nil, false
	}
	err = ReplaceStrings(args, func(s string) (string, error) {
		if whole, ok := names[s]; ok {
			return whole, nil
		}
		return s, nil
	})
	return args, err == nil
}

func decode(raw []byte) (map[string]any, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return map[string]any{}, nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	v, err := decodeValue(dec, 0)
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, invalid("there is text after the JSON object of the arguments")
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, invalid("the arguments are not a JSON object")
	}
	return m, nil
}

func decodeValue(dec *json.Decoder, depth int) (any, error) {
	if depth > maxDepth {
		return nil, invalid("the arguments are nested too deeply")
	}
	t, err := dec.Token()
	if err != nil {
		return nil, syntaxError(dec)
	}
	switch t := t.(type) {
	case json.Delim:
		if t == '{' {
			return decodeObject(dec, depth)
		}
		return decodeList(dec, depth)
	case json.Number:
		if _, err := strconv.ParseFloat(string(t), 64); err != nil || len(t) > maxNumberSize {
			return nil, invalid("the number %s in the arguments is too large", text.Clip(string(t), 40))
		}
	}
	return t, nil
}

func decodeObject(dec *json.Decoder, depth int) (any, error) {
	m := map[string]any{}
	for dec.More() {
		t, err := dec.Token()
		key, ok := t.(string)
		if err != nil || !ok {
			return nil, syntaxError(dec)
		}
		if _, twice := m[key]; twice {
			return nil, invalid("the argument %q is given twice", text.Clip(key, 60))
		}
		if m[key], err = decodeValue(dec, depth+1); err != nil {
			return nil, err
		}
	}
	return m, closingBracket(dec)
}

func decodeList(dec *json.Decoder, depth int) (any, error) {
	list := []any{}
	for dec.More() {
		v, err := decodeValue(dec, depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, closingBracket(dec)
}

func closingBracket(dec *json.Decoder) error {
	if _, err := dec.Token(); err != nil {
		return syntaxError(dec)
	}
	return nil
}

func syntaxError(dec *json.Decoder) *tool.Error {
	return invalid("the arguments are not valid JSON: they are incomplete or wrong near character %d", dec.InputOffset())
}

// ReplaceStrings replaces every string value in v, at any depth, with the result of
// f, in place. Keys stay. It stops at the first error of f.
func ReplaceStrings(v any, f func(string) (string, error)) error {
	_, err := replace(v, f)
	return err
}

func replace(v any, f func(string) (string, error)) (any, error) {
	var err error
	switch v := v.(type) {
	case string:
		return f(v)
	case map[string]any:
		for k, e := range v {
			if v[k], err = replace(e, f); err != nil {
				return nil, err
			}
		}
	case []any:
		for i, e := range v {
			if v[i], err = replace(e, f); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// AnyString reports whether f returns true for a string value or a key in v, at any depth.
func AnyString(v any, f func(string) bool) bool {
	switch v := v.(type) {
	case string:
		return f(v)
	case map[string]any:
		for k, e := range v {
			if f(k) || AnyString(e, f) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return AnyString(e, f) })
	}
	return false
}
