package schema

import (
	"encoding/json"
	"testing"
)

// A description in Chinese replaces the English one in the Chinese schema and is not
// in the other; what an author calls so stays.
func TestByLanguage(t *testing.T) {
	for _, tt := range []struct{ schema, en, zh, why string }{
		{`{"type":"object"}`, `{"type":"object"}`, ``, "there is none"},
		{`{"properties":{"b":{"description":"x","description_zh":"甲","type":"string"},"a":{"type":"string"}}}`,
			`{"properties":{"b":{"description":"x","type":"string"},"a":{"type":"string"}}}`,
			`{"properties":{"b":{"description":"甲","type":"string"},"a":{"type":"string"}}}`, "the order stays"},
		{`{"properties":{"a":{"description_zh":"甲","type":"string","description":"x"}}}`,
			`{"properties":{"a":{"type":"string","description":"x"}}}`, `{"properties":{"a":{"type":"string","description":"甲"}}}`, "it comes first"},
		{`{"properties":{"a":{"description_zh":"甲","minimum":1.50}}}`,
			`{"properties":{"a":{"minimum":1.50}}}`, `{"properties":{"a":{"description":"甲","minimum":1.50}}}`, "it is alone"},
		{`{"properties":{"description_zh":{"type":"string","description_zh":"<乙>"}}}`,
			`{"properties":{"description_zh":{"type":"string"}}}`, `{"properties":{"description_zh":{"type":"string","description":"<乙>"}}}`, "an argument of that name"},
		{`{"items":{"anyOf":[{"description":"y","description_zh":"丙"}]},"default":{"description_zh":"丁"}}`,
			`{"items":{"anyOf":[{"description":"y"}]},"default":{"description_zh":"丁"}}`,
			`{"items":{"anyOf":[{"description":"丙"}]},"default":{"description_zh":"丁"}}`, "inside lists, and not in data"},
		{`{"description_zh":5,"type":"object"}`, `{"description_zh":5,"type":"object"}`, ``, "it is no text"},
	} {
		en, zh := ByLanguage(json.RawMessage(tt.schema))
		if string(en) != tt.en || string(zh) != tt.zh {
			t.Errorf("%s:\n got %s\n and %s\nwant %s\n and %s", tt.why, en, zh, tt.en, tt.zh)
		}
	}
}
