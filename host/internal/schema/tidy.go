package schema

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/weirhost/weir/host/internal/text"
)

// MaxProse bounds a text of a manifest that people and models read, in bytes.
const MaxProse = 1 << 10

// MaxTheirs bounds such a text of a third party, in bytes.
const MaxTheirs = 32 << 10

// NoParams is the schema of a tool that takes no arguments.
const NoParams = `{"type":"object","properties":{}}`

// IsProse reports whether people read the text under a key of a schema.
func IsProse(key string) bool {
	return key == "description" || key == DescriptionZh || key == "title"
}

// Prose returns the first text that is not empty, with its lines, without invisible
// characters and cut to MaxTheirs.
func Prose(texts ...string) string {
	for _, s := range texts {
		// Cut first, to bound the work.
		s = strings.ToValidUTF8(s[:min(len(s), 2*MaxTheirs)], "")
		if s = text.Clean(s); strings.TrimSpace(s) == "" {
			continue
		}
		if len(s) <= MaxTheirs {
			return s
		}
		return strings.ToValidUTF8(s[:MaxTheirs-len("…")], "") + "…"
	}
	return ""
}

// Tidy compacts a schema, removes invisible characters from its texts, and
// adds the type that some authors omit.
func Tidy(raw json.RawMessage) (json.RawMessage, error) {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) > maxSchema:
		return nil, errorf("its schema is %d bytes long, and at most %d are read", len(raw), maxSchema)
	case len(raw) == 0 || string(raw) == "null":
		return json.RawMessage(NoParams), nil
	case raw[0] != '{':
		return nil, errorf("its schema is not an object")
	}
	w := &tidy{dec: json.NewDecoder(bytes.NewReader(raw))}
	w.dec.UseNumber()
	if err := w.value("", 0); err != nil {
		return nil, err
	}
	var top map[string]json.RawMessage
	if err := json.Unmarshal(w.out.Bytes(), &top); err != nil {
		return nil, errorf("its schema is not valid JSON")
	}
	if _, typed := top["type"]; !typed {
		rest := strings.TrimPrefix(w.out.String(), "{")
		if rest != "}" {
			rest = "," + rest
		}
		return json.RawMessage(`{"type":"object"` + rest), nil
	}
	return w.out.Bytes(), nil
}

// TidyKnown compacts the schema of a manifest. Its texts are held to the rules of one:
// what could not be seen is refused, where it has a meaning.
func TidyKnown(raw []byte) (json.RawMessage, error) {
	w := &tidy{dec: json.NewDecoder(bytes.NewReader(raw)), known: true}
	w.dec.UseNumber()
	err := w.value("", 0)
	return w.out.Bytes(), err
}

// TidyValue compacts JSON of a third party that is no schema, as Tidy does, and keeps its
// order.
func TidyValue(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) > MaxTheirs {
		return nil, errorf("it has more than %d bytes", MaxTheirs)
	}
	w := &tidy{dec: json.NewDecoder(bytes.NewReader(raw))}
	w.dec.UseNumber()
	err := w.value("", 0)
	return w.out.Bytes(), err
}

// A Buffer is a text of JSON that grows.
type Buffer struct{ bytes.Buffer }

// Literal writes a string, number or boolean without HTML escapes, because a model reads
// this text.
func (w *Buffer) Literal(v any) {
	enc := json.NewEncoder(&w.Buffer)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		w.WriteString("null")
		return
	}
	w.Truncate(w.Len() - 1) // the encoder's newline
}

// maxTidyDepth bounds the nesting of a third-party schema.
const maxTidyDepth = 48

// tidy copies JSON and keeps its order. It cleans the texts that people and models
// read. In a third-party schema it cleans every string, and cuts texts to MaxTheirs.
type tidy struct {
	dec   *json.Decoder
	out   Buffer
	known bool // the schema is in a manifest
	fault error
}

func (w *tidy) value(key string, depth int) error {
	if depth > maxTidyDepth {
		return errorf("its schema nests deeper than %d levels", maxTidyDepth)
	}
	t, err := w.dec.Token()
	if err != nil {
		return errorf("its schema is not valid JSON")
	}
	switch t := t.(type) {
	case json.Delim:
		return w.inside(t, depth)
	case string:
		w.out.Literal(w.text(t, IsProse(key)))
	default:
		w.out.Literal(t)
	}
	return nil
}

func (w *tidy) text(s string, read bool) string {
	switch {
	case w.known:
		return w.own(s, read)
	case !read:
		return text.Clean(s)
	}
	return Prose(s)
}

// own checks a text against the rules of a manifest.
func (w *tidy) own(s string, read bool) string {
	shown := text.Clean(s)
	switch {
	case !read && shown != s:
		w.fault = errorf("it holds characters that cannot be seen")
	case read && len(shown) > MaxProse:
		w.fault = errorf("it holds a text of %d bytes, and at most %d are taken", len(shown), MaxProse)
	case !read:
		return s
	}
	return shown
}

// inside copies the rest of an object or a list.
func (w *tidy) inside(open json.Delim, depth int) error {
	w.out.WriteString(open.String())
	for n := 0; w.dec.More(); n++ {
		if n > 0 {
			w.out.WriteByte(',')
		}
		key := ""
		if open == '{' {
			t, err := w.dec.Token()
			name, ok := t.(string)
			if err != nil || !ok {
				return errorf("its schema is not valid JSON")
			}
			key = w.text(name, false)
			w.out.Literal(key)
			w.out.WriteByte(':')
		}
		if err := w.value(key, depth+1); err != nil {
			return err
		}
	}
	end, err := w.dec.Token()
	if err != nil {
		return errorf("its schema is not valid JSON")
	}
	w.out.WriteString(end.(json.Delim).String())
	return w.fault
}
