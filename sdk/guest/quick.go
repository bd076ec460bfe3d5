package guest

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Most arguments are a few texts, numbers and switches. Every call begins with the
// same memory, so what encoding/json does in general it does in general again and
// again: reading such arguments by hand takes a tenth of the time.

// maxQuick is how many fields a struct may have that is read by hand.
const maxQuick = 24

// quick reads a JSON object into the struct that args points to, as json.Unmarshal
// does. It is false, and the struct may be half written, if anything about the
// object or about the fields that it names is not plain, or is wrong.
func quick(raw string, args any) bool {
	to := reflect.ValueOf(args).Elem()
	if to.Kind() != reflect.Struct || to.NumField() > maxQuick || odd(to.Addr()) {
		return false
	}
	var names [maxQuick]string
	if !fieldNames(to.Type(), names[:to.NumField()]) {
		return false
	}
	r := reader{s: raw}
	if !r.take('{') {
		return false
	}
	for first := true; !r.take('}'); first = false {
		if !first && !r.take(',') {
			return false
		}
		key, ok := r.text()
		at := -1
		for i, name := range names[:to.NumField()] {
			if name == key && name != "" {
				at = i
			}
		}
		if !ok || at < 0 || !r.take(':') || !r.into(to.Field(at)) {
			return false
		}
	}
	r.space()
	return r.i == len(r.s)
}

// fieldNames fills in the JSON names of the fields of a struct, "" for fields
// without one. It returns false if encoding/json applies rules that this package
// does not implement.
func fieldNames(t reflect.Type, names []string) bool {
	for i := range names {
		f := t.Field(i)
		if f.Anonymous {
			return false
		}
		tag, ok := jsonTag(f.Tag)
		if !f.IsExported() || tag == "-" {
			continue
		}
		name, option, _ := strings.Cut(tag, ",")
		if !ok || name == "" {
			name = f.Name
		}
		if option != "" && option != "omitempty" || !plainName(name) {
			return false
		}
		for _, other := range names[:i] {
			if other == name {
				return false
			}
		}
		names[i] = name
	}
	return true
}

func plainName(name string) bool {
	for i := range len(name) {
		c := name[i]
		if c != '_' && (c < '0' || c > '9') && (c|' ' < 'a' || c|' ' > 'z') {
			return false
		}
	}
	return true
}

// odd reports whether a value reads itself, or is read by a rule of its own.
func odd(pointer reflect.Value) bool {
	switch pointer.Interface().(type) {
	case json.Unmarshaler, interface{ UnmarshalText([]byte) error }, *json.Number:
		return true
	}
	return false
}

// A reader walks over JSON.
type reader struct {
	s string
	i int
}

func (r *reader) space() {
	for r.i < len(r.s) && (r.s[r.i] == ' ' || r.s[r.i] == '\n' || r.s[r.i] == '\t' || r.s[r.i] == '\r') {
		r.i++
	}
}

// take goes over a byte and the space in front of it, if it comes next.
func (r *reader) take(c byte) bool {
	r.space()
	if r.i < len(r.s) && r.s[r.i] == c {
		r.i++
		return true
	}
	return false
}

// into reads a value into a field.
func (r *reader) into(f reflect.Value) bool {
	if f.Type().PkgPath() != "" && odd(f.Addr()) { // only types with a name of their own can have methods
		return false
	}
	switch f.Kind() {
	case reflect.String:
		s, ok := r.text()
		f.SetString(s)
		return ok
	case reflect.Bool:
		return r.truth(f)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n, err := strconv.ParseInt(r.number(true), 10, 64)
		if err != nil || f.OverflowInt(n) {
			return false
		}
		f.SetInt(n)
		return true
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		n, err := strconv.ParseUint(r.number(true), 10, 64)
		if err != nil || f.OverflowUint(n) {
			return false
		}
		f.SetUint(n)
		return true
	case reflect.Float64, reflect.Float32:
		n, err := strconv.ParseFloat(r.number(false), f.Type().Bits())
		if err != nil {
			return false
		}
		f.SetFloat(n)
		return true
	}
	return false
}

func (r *reader) truth(f reflect.Value) bool {
	r.space()
	rest := r.s[r.i:]
	switch {
	case strings.HasPrefix(rest, "true"):
		r.i += len("true")
		f.SetBool(true)
		return true
	case strings.HasPrefix(rest, "false"):
		r.i += len("false")
		f.SetBool(false)
		return true
	}
	return false
}

// number goes over a number, whole or not; "": there is none, or one with more to it.
func (r *reader) number(whole bool) string {
	r.space()
	begin := r.i
	if r.i < len(r.s) && r.s[r.i] == '-' {
		r.i++
	}
	first := r.i
	if n := r.digits(); n == 0 || n > 1 && r.s[first] == '0' {
		return ""
	}
	if r.i < len(r.s) && r.s[r.i] == '.' && !whole {
		r.i++
		if r.digits() == 0 {
			return ""
		}
	}
	if r.i < len(r.s) && (r.s[r.i] == '.' || r.s[r.i]|' ' == 'e') {
		return ""
	}
	return r.s[begin:r.i]
}

func (r *reader) digits() (n int) {
	for r.i < len(r.s) && r.s[r.i] >= '0' && r.s[r.i] <= '9' {
		r.i++
		n++
	}
	return n
}

// text reads a string.
func (r *reader) text() (string, bool) {
	if !r.take('"') {
		return "", false
	}
	rest := r.s[r.i:]
	if n := plain(rest); n < len(rest) && rest[n] == '"' {
		r.i += n + 1
		return rest[:n], true
	}
	n := strings.IndexByte(rest, '"')
	if n < 0 {
		return "", false
	}
	if s := rest[:n]; strings.IndexByte(s, '\\') < 0 {
		r.i += n + 1
		return s, plainText(s)
	}
	return r.escaped()
}

// escaped reads the rest of a string that has escapes.
func (r *reader) escaped() (string, bool) {
	var b []byte
	for {
		n := strings.IndexAny(r.s[r.i:], `"\`)
		if n < 0 || !plainText(r.s[r.i:r.i+n]) {
			return "", false
		}
		b = append(b, r.s[r.i:r.i+n]...)
		r.i += n + 1
		if r.s[r.i-1] == '"' {
			return string(b), true
		}
		if r.i == len(r.s) {
			return "", false
		}
		c := r.s[r.i]
		r.i++
		switch c {
		case '"', '\\', '/':
			b = append(b, c)
		case 'n':
			b = append(b, '\n')
		case 't':
			b = append(b, '\t')
		case 'r':
			b = append(b, '\r')
		case 'b':
			b = append(b, '\b')
		case 'f':
			b = append(b, '\f')
		case 'u':
			c, ok := r.unit()
			if !ok {
				return "", false
			}
			if utf16.IsSurrogate(c) { // a half alone is for encoding/json
				if !strings.HasPrefix(r.s[r.i:], `\u`) {
					return "", false
				}
				r.i += len(`\u`)
				low, ok := r.unit()
				if c = utf16.DecodeRune(c, low); !ok || c == utf8.RuneError {
					return "", false
				}
			}
			b = utf8.AppendRune(b, c)
		default:
			return "", false
		}
	}
}

// unit reads the four digits of an escape.
func (r *reader) unit() (rune, bool) {
	if len(r.s)-r.i < 4 {
		return 0, false
	}
	n, err := strconv.ParseUint(r.s[r.i:r.i+4], 16, 16)
	r.i += 4
	return rune(n), err == nil
}
