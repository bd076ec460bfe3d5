package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
)

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

// Who pastes the JSON of a README reads which command takes it.
func TestPastedJSONNamesTheCommand(t *testing.T) {
	for text, want := range map[string]string{
		"{\n  \"mcpServers\": {}\n}\n":                                     "tools.toml:1:1: this is JSON",
		"locale = \"en\"\n\n[mcpServers]\n\"x\": {\"command\": \"npx\"}\n": "tools.toml:4:4: this is JSON",
		"[mcpServers]\n  \"x\" : {\n":                                      "tools.toml:2:7: this is JSON",
		"[mcpServers.x]\n\"command\" \"npx\"\n":                            "",
		"locale: \"en\"\n":                                                 "",
	} {
		_, faults := Parse("tools.toml", text)
		if len(faults) == 0 {
			t.Fatalf("%q: no fault", text)
		}
		if got := faults[0].String(); want == "" && strings.Contains(got, "JSON") || !strings.HasPrefix(got, want) || want != "" && !strings.Contains(got, "weir mcp add '{…}'") {
			t.Errorf("%q: %s; want %s", text, got, want)
		}
	}
}

// TestAnEndlessConfigurationIsRefused: the folder in which weir starts may be a stranger's,
// with tools.toml as a link to a device.
func TestAnEndlessConfigurationIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), FileName)
	if err := os.Symlink("/dev/zero", file); err != nil {
		t.Fatal(err)
	}
	if _, err := (Source{}).Load(Paths{Config: file}); err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("it was read: %v", err)
	}
}

// A terminal obeys nothing that a file has in its keys and values.
func TestFaultsAreTame(t *testing.T) {
	for _, text := range []string{
		"\"\\u001b[2J\" = 1\n",
		"[models.\"\\u001b[31m\\u202e\"]\nprovider = \"\\u001b[1m\"\n",
		"[agents.\"\\u009b31m\"]\nmode = \"x\"\n",
		"[grants.\"\\u001b[9m\"]\npaths = [{ guest = \"/\\u001b[7m\", host = \"\\u0007\", mode = \"\\u001b[7m\" }]\n",
	} {
		_, faults := Parse("tools.toml", text)
		if len(faults) == 0 {
			t.Errorf("%q has no fault", text)
		}
		for _, f := range faults {
			if s := f.String(); strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r) }) {
				t.Errorf("%q: %q", text, s)
			}
		}
	}
}
