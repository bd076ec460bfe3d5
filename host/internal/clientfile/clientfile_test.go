package clientfile

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// made is a token as the daemon makes them.
var made = "weir_client_" + strings.Repeat("t", 43)

func agent(t *testing.T, name string) Agent {
	t.Helper()
	for _, a := range Agents() {
		if a.Name == name {
			return a
		}
	}
	t.Fatalf("there is no agent %s", name)
	return Agent{}
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func read(t *testing.T, file string, a Agent) *File {
	t.Helper()
	f, err := Read(file, a.TOML())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// What is written into a file and taken out again leaves it as it was, comments and other
// servers included; writing it twice changes nothing.
func TestThereAndBack(t *testing.T) {
	for _, row := range []struct{ name, file, before, after string }{
		{"opencode", "opencode.json", "", `{
  "mcp": {
    "weir": {
      "enabled": true,
      "headers": {
        "Authorization": "Bearer TOKEN"
      },
      "oauth": false,
      "type": "remote",
      "url": "http://127.0.0.1:8420/mcp"
    }
  },
  "provider": {
    "weir": {
      "models": {
        "m": {
          "attachment": true,
          "limit": {
            "context": 32768,
            "output": 8192
          },
          "modalities": {
            "input": [
              "text",
              "image"
            ],
            "output": [
              "text"
            ]
          },
          "name": "m"
        }
      },
      "name": "weir",
      "npm": "@ai-sdk/openai-compatible",
      "options": {
        "apiKey": "TOKEN",
        "baseURL": "http://127.0.0.1:8420/v1"
      }
    }
  },
  "model": "weir/m"
}
`},
		{"opencode", "opencode.jsonc", "// mine\n{\n  \"model\": \"other/big\", // my model\n  \"mcp\": {\n    \"files\": { \"type\": \"local\" }\n    // more servers\n  }\n}\n", ""},
		{"qwen", "settings.json", "{\n  \"model\": {\n    \"name\": \"qwen3\"\n  },\n  \"security\": {\n    \"auth\": {\n      \"selectedType\": \"qwen-oauth\",\n      \"apiKey\": \"mine\"\n    }\n  }\n}\n", ""},
		{"qwen", "settings.json", "{\n  \"theme\": \"dark\"\n}\n", ""},
		{"claude", ".claude.json", "{\n  \"numStartups\": 3,\n  \"mcpServers\": {\n    \"files\": {}\n  }\n}\n", ""},
		{"gemini", "settings.json", "{\n  \"mcpServers\": {\n    \"files\": {}\n  }\n}\n", ""},
		{"codex", "config.toml", "model = \"gpt-5\" # mine\n\n[mcp_servers.files]\ncommand = \"x\"\n# the end\n", "model = \"gpt-5\" # mine\n\n[mcp_servers.files]\ncommand = \"x\"\n# the end\n\n[mcp_servers.weir]\nurl = \"http://127.0.0.1:8420/mcp\"\n\n[mcp_servers.weir.http_headers]\nAuthorization = \"Bearer TOKEN\"\n"},
	} {
		a := agent(t, row.name)
		file := write(t, row.file, row.before)
		f := read(t, file, a)
		w := Weir{URL: "http://127.0.0.1:8420", Token: made, Model: "m", Window: 32768, Images: true}
		sets := a.Sets(w)
		after, err := f.With(sets)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.ReplaceAll(after, made, "TOKEN"); row.after != "" {
			if d := cmp.Diff(row.after, got); d != "" {
				t.Errorf("%s: (-want +got)\n%s", row.name, d)
			}
		}
		r, err := f.Record(Record{}, sets)
		if err != nil {
			t.Fatal(err)
		}
		if raw, _ := json.Marshal(r); strings.Contains(string(raw), made) {
			t.Errorf("the record has the token: %s", raw)
		}
		if err := f.Write(after, true); err != nil {
			t.Fatal(err)
		}
		if st, err := os.Stat(file); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%v %v", st, err)
		}
		f = read(t, file, a)
		if again, err := f.With(sets); err != nil || again != after {
			t.Errorf("%s: written twice it differs: %v\n%s", row.name, err, again)
		}
		// Another model, and the record still has what was there before weir.
		w.Model = "n"
		r, err = f.Record(r, a.Sets(w))
		if err != nil {
			t.Fatal(err)
		}
		next, err := f.With(a.Sets(w))
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Write(next, true); err != nil {
			t.Fatal(err)
		}
		f = read(t, file, a)
		back, err := f.Without(a, r)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(row.before, back); d != "" && !(Empty(row.before) && Empty(back)) {
			t.Errorf("%s: (-before +after)\n%s", row.name, d)
		}
	}
}

// What a person changed since weir wrote it stays.
func TestWithoutKeepsWhatAPersonChanged(t *testing.T) {
	a := agent(t, "opencode")
	file := write(t, "opencode.json", "{\n  \"model\": \"other/big\"\n}\n")
	f := read(t, file, a)
	sets := a.Sets(Weir{URL: "http://x", Token: made, Model: "m"})
	r, err := f.Record(Record{}, sets)
	if err != nil {
		t.Fatal(err)
	}
	if f.Text, err = f.With(sets); err != nil {
		t.Fatal(err)
	}
	f.Text = strings.Replace(f.Text, `"model": "weir/m"`, `"model": "third/small"`, 1)
	if got, err := f.Without(a, r); err != nil || got != "{\n  \"model\": \"third/small\"\n}\n" {
		t.Errorf("%v\n%s", err, got)
	}
}

// A damaged file is refused with its place, and so is one in a repository, through links too.
func TestReadRefuses(t *testing.T) {
	for name, want := range map[string]string{"a.json": "line 2, column 8", "a.toml": "line 2, column 5"} {
		file := write(t, name, map[string]string{"a.json": "{\n  \"a\": }\n", "a.toml": "b = 1\na = ==\n"}[name])
		if _, err := Read(file, strings.HasSuffix(name, "toml")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	repository := t.TempDir()
	if err := os.MkdirAll(filepath.Join(repository, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(repository, "deep", "config.json")
	if _, err := Read(file, false); err == nil || !strings.Contains(err.Error(), "repository") {
		t.Errorf("%v", err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(repository, link); err != nil {
		t.Skip(err)
	}
	if _, err := Read(filepath.Join(link, "config.json"), false); err == nil || !strings.Contains(err.Error(), "repository") {
		t.Errorf("%v", err)
	}
}

func TestWriteOverAnotherChange(t *testing.T) {
	file := write(t, "a.json", "{}")
	f := read(t, file, agent(t, "claude"))
	if err := os.WriteFile(file, []byte(`{"new":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.Write("{}", true); err == nil || !strings.Contains(err.Error(), "meanwhile") {
		t.Errorf("%v", err)
	}
	if err := f.Remove(); err == nil {
		t.Error("it was removed")
	}
}

func TestFilesOfAgents(t *testing.T) {
	dirs := func(env map[string]string, files ...string) Dirs {
		return Dirs{Home: "/home/ann", Config: "/home/ann/.config", Getenv: func(n string) string { return env[n] }, Exists: func(f string) bool {
			return len(files) > 0 && filepath.ToSlash(f) == files[0]
		}}
	}
	moved := map[string]string{"CODEX_HOME": "/c", "CLAUDE_CONFIG_DIR": "/d", "QWEN_HOME": "/q", "GEMINI_CLI_HOME": "/g"}
	for name, want := range map[string][2]string{
		"opencode": {"/home/ann/.config/opencode/opencode.json", "/home/ann/.config/opencode/opencode.jsonc"},
		"qwen":     {"/home/ann/.qwen/settings.json", "/q/settings.json"},
		"codex":    {"/home/ann/.codex/config.toml", "/c/config.toml"},
		"claude":   {"/home/ann/.claude.json", "/d/.claude.json"},
		"gemini":   {"/home/ann/.gemini/settings.json", "/g/.gemini/settings.json"},
	} {
		a := agent(t, name)
		if got := filepath.ToSlash(a.File(dirs(nil))); got != want[0] {
			t.Errorf("%s: %s", name, got)
		}
		if got := filepath.ToSlash(a.File(dirs(moved, "/home/ann/.config/opencode/opencode.jsonc"))); got != want[1] {
			t.Errorf("%s elsewhere: %s", name, got)
		}
	}
}

func TestVeiled(t *testing.T) {
	for text, want := range map[string]string{
		`  "apiKey": "sk-mine",`: `  "apiKey": "…",`, `Authorization = "Bearer x"`: `Authorization = "…"`, "x " + made: "x …", `"url": "http://x"`: `"url": "http://x"`,
	} {
		if got := Veiled(text); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}
