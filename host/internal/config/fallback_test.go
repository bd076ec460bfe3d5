package config

import (
	"strings"
	"testing"
)

// A list of fallbacks names other models that are configured.
func TestFallbackNamesOtherModels(t *testing.T) {
	const two = "[models.a]\nprovider = \"ollama\"\nmodel = \"x\"\n[models.b]\nprovider = \"ollama\"\nmodel = \"y\"\n"
	for text, want := range map[string]string{
		two + "fallback = [\"a\", \"demo\"]\n[agent]\nmodel = \"a\"\nfallback = []\n": "",
		two + "fallback = [\"a\", \"c\"]\n":                                           `f:7:1: there is no model "c" (add [models.c], or use one of: a, b, demo)`,
		two + "fallback = [\"b\"]\n":                                                  `f:7:1: "b" is the model itself (name other models)`,
		two + "[agent]\nmodel = \"a\"\nfallback = [\"b\", \"a\"]\n":                   `f:9:1: "a" is the model itself`,
		two + "[agent]\nfallback = [\"demo\"]\n":                                      `f:8:1: "demo" is the model itself`,
		two + "[agents.x]\nmodel = \"a\"\nfallback = [\"z\"]\n":                       `f:9:1: there is no model "z"`,
	} {
		s, faults := Parse("f", text)
		if want == "" && len(faults) > 0 || want != "" && (len(faults) != 1 || !strings.HasPrefix(faults[0].String(), want)) {
			t.Errorf("%q: %v; want %q", text, faults, want)
		}
		if p := s.WithDefaults().Profiles()["default"]; want == "" && (p.Fallback == nil || len(p.Fallback) > 0) {
			t.Errorf("an empty list of a profile became %v", p.Fallback)
		}
	}
}
