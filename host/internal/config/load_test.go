package config

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/weirhost/weir/host/internal/dotenv"
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

// A variable that is not set, in the environment or in .env, is warned of where it is written,
// and the server that needs it knows it. Set to nothing, or with a default, it is not missed.
func TestUnsetVariables(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, FileName)
	text := `locale = "${LANGUAGE}"
[mcpServers.search]
command = "${HERE}"
args = ["a", "${GONE}", "${GONE:-b}"]
env = { KEY = "${KEY}", EMPTY = "${EMPTY}", MAYBE = "${MAYBE:-}", MINE = "${MINE}" }
[mcpServers.web]
url = "http://127.0.0.1:1"
headers = { Authorization = "Bearer ${EMPTY}" }
[mcpServers.off]
command = "x"
args = ["${GONE}"]
disabled = true
[[plugins.folder]]
path = "${FOLDER}/x"
[models.m]
provider = "vllm"
model = "m"
key = "${GONE}"
`
	for name, content := range map[string]string{file: text, dotenv.File(file): "MINE = 1\n"} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := func(name string) (string, bool) { return "", name == "EMPTY" || name == "HERE" }
	l, err := Source{Env: env}.Load(Paths{Config: file})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range l.Settings.Lint() {
		got = append(got, strings.TrimPrefix(f.String(), file))
	}
	want := func(at, name string) string {
		return at + ": the variable " + name + " is not set (set it in the environment or in .env beside the file; write ${" + name + ":-} where it may be empty)"
	}
	if all := []string{want(":1:1", "LANGUAGE"), want(":4:14", "GONE"), want(":5:9", "KEY"), want(":14:1", "FOLDER")}; !slices.Equal(got, all) {
		t.Errorf("%q, want %q", got, all)
	}
	for _, s := range l.Settings.HostServers(Paths{Config: file}) {
		if want := map[string]map[string]string{"search": {"HERE": "", "EMPTY": "", "MINE": "1"}, "web": {"EMPTY": ""}}[s.Name]; !maps.Equal(s.Variables, want) {
			t.Errorf("%s refers to %q, want %q", s.Name, s.Variables, want)
		}
		if want := map[string]string{"search": "GONE KEY"}[s.Name]; strings.Join(s.Unset, " ") != want {
			t.Errorf("%s lacks %q, want %q", s.Name, s.Unset, want)
		}
	}
}
