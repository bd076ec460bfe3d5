package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
)

// DescriptionZh is the key of a schema with the description in Chinese.
const DescriptionZh = "description_zh"

// ByLanguage splits a schema whose parts may have a description in Chinese: en is
// without them, zh has them in place of the English ones and is nil if there are none.
// Both keep the order of the document. A schema that is no valid JSON stays as it is.
func ByLanguage(schema json.RawMessage) (en, zh json.RawMessage) {
	if !bytes.Contains(schema, []byte(`"`+DescriptionZh+`"`)) {
		return schema, nil
	}
	dec := json.NewDecoder(bytes.NewReader(schema))
	dec.UseNumber()
	var s schemaTexts
	if s.value(dec, isSchema) != nil || bytes.Equal(s.en.Bytes(), s.zh.Bytes()) {
		return schema, nil
	}
	return s.en.Bytes(), s.zh.Bytes()
}

// A role is what a value of a schema is.
type role int

const (
	isSchema role = iota
	isNames       // an object whose values are schemas, by names of the author
	isData        // what arguments are compared with
)

// roleOf returns the role of the value under a key of a schema.
func roleOf(key string) role {
	switch key {
	case "properties", "patternProperties", "dependentSchemas", "$defs", "definitions":
		return isNames
	case "default", "const", "enum", "examples", "required", "dependentRequired":
		return isData
	}
	return isSchema
}

// schemaTexts writes a schema in both languages.
type schemaTexts struct{ en, zh bytes.Buffer }

func (s *schemaTexts) both(text string) {
	s.en.WriteString(text)
	s.zh.WriteString(text)
}

func (s *schemaTexts) value(dec *json.Decoder, is role) error {
	t, err := dec.Token()
	if err != nil {
		return err
	}
	switch t {
	case json.Delim('{'):
		return s.object(dec, is)
	case json.Delim('['):
		return s.list(dec, is)
	}
	return errors.Join(literal(&s.en, t), literal(&s.zh, t))
}

func (s *schemaTexts) list(dec *json.Decoder, is role) error {
	s.both("[")
	for n := 0; dec.More(); n++ {
		if n > 0 {
			s.both(",")
		}
		if err := s.value(dec, is); err != nil {
			return err
		}
	}
	s.both("]")
	_, err := dec.Token()
	return err
}

// A member is one key of an object with its value in both languages.
type member struct {
	key    string
	en, zh []byte
}

// object writes the rest of an object. A member may depend on a later one: the Chinese
// description takes the place of the English one.
func (s *schemaTexts) object(dec *json.Decoder, is role) error {
	var all []member
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		inner := is
		switch is {
		case isSchema:
			inner = roleOf(key.(string))
		case isNames:
			inner = isSchema
		}
		var v schemaTexts
		if err := v.value(dec, inner); err != nil {
			return err
		}
		all = append(all, member{key.(string), v.en.Bytes(), v.zh.Bytes()})
	}
	if is == isSchema {
		all = chineseIn(all)
	}
	if err := s.members(all); err != nil {
		return err
	}
	_, err := dec.Token()
	return err
}

// chineseIn moves a description in Chinese to its place.
func chineseIn(all []member) []member {
	at := slices.IndexFunc(all, func(m member) bool { return m.key == DescriptionZh })
	if at < 0 || all[at].en[0] != '"' {
		return all
	}
	if to := slices.IndexFunc(all, func(m member) bool { return m.key == "description" }); to >= 0 {
		all[to].zh = all[at].zh
		return slices.Delete(all, at, at+1)
	}
	all[at] = member{key: "description", zh: all[at].zh}
	return all
}

// members writes an object; a member without an English value is Chinese alone.
func (s *schemaTexts) members(all []member) error {
	for _, l := range []struct {
		to   *bytes.Buffer
		text func(member) []byte
	}{{&s.en, func(m member) []byte { return m.en }}, {&s.zh, func(m member) []byte { return m.zh }}} {
		l.to.WriteByte('{')
		n := 0
		for _, m := range all {
			text := l.text(m)
			if text == nil {
				continue
			}
			if n > 0 {
				l.to.WriteByte(',')
			}
			n++
			if err := literal(l.to, m.key); err != nil {
				return err
			}
			l.to.WriteByte(':')
			l.to.Write(text)
		}
		l.to.WriteByte('}')
	}
	return nil
}

// literal writes a string, number, boolean or null without HTML escapes.
func literal(to *bytes.Buffer, v any) error {
	enc := json.NewEncoder(to)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	to.Truncate(max(to.Len()-1, 0)) // the encoder's newline
	return err
}
