package config

import "testing"

// The fault of a misspelled key suggests a key of the same table.
func TestUnknownKeyNamesTheNearest(t *testing.T) {
	for text, want := range map[string]string{
		"locael = \"en\"\n":                                     "did you mean locale?",
		"[limits]\nmax_char = 1\n":                              "did you mean max_chars?",
		"[models.x]\nprovder = \"demo\"\nprovider = \"demo\"\n": "did you mean provider?",
		"[[plugins.folder]]\npath = \".\"\ntrsut = \"ask\"\n":   "did you mean trust?",
		"[limits]\nanything_else = 1\n":                         "check the spelling; tools.toml in the repository explains every key",
	} {
		_, faults := Parse("tools.toml", text)
		if len(faults) != 1 || faults[0].Hint.String() != want {
			t.Errorf("%q: %+v; want %q", text, faults, want)
		}
	}
}
