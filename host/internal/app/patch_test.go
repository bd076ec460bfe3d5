package app

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/internal/config"
)

const someTools = `# mine, with a note
locale = "auto"

[server]
addr = "127.0.0.1:8420" # never touched

[limits] # how much
# max_chars = 8000 # characters
max_lines = 400   # enough

[agent]
system = "Answer ${TONE:-briefly}."

[models.local]
provider = "ollama"
model = "qwen3"
key = "${SECRET_KEY}"

[users.ann]
token_sha256 = "0000000000000000000000000000000000000000000000000000000000000001"
`

// patched is an App over a tools.toml, and its routes.
type patched struct {
	*testing.T
	*App
	file, url string
}

func openPatched(t *testing.T, text string) *patched {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "tools.toml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"SECRET_KEY": "sk-very-secret"}
	a, err := Open(t.Context(), Options{Source: config.Source{
		Config: file, Data: filepath.Join(dir, "data"), Workspace: dir,
		Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
	}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(a.Daemon.Handler())
	t.Cleanup(func() {
		server.Close()
		a.Close()
	})
	return &patched{t, a, file, server.URL}
}

// do sends a request as the operator.
func (p *patched) do(method, path, match, body string) (status int, header http.Header, text string) {
	req, err := http.NewRequestWithContext(p.Context(), method, p.url+path, strings.NewReader(body))
	if err != nil {
		p.Error(err)
		return
	}
	req.Header.Set("Authorization", "Bearer "+p.Token)
	req.Header.Set("Content-Type", "application/json")
	if match != "" {
		req.Header.Set("If-Match", match)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.Error(err)
		return
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		p.Error(err)
	}
	return resp.StatusCode, resp.Header, string(b)
}

func (p *patched) tag() string {
	_, h, _ := p.do("GET", "/api/settings", "", "")
	return h.Get("ETag")
}

func (p *patched) text() string {
	p.Helper()
	b, err := os.ReadFile(p.file)
	if err != nil {
		p.Fatal(err)
	}
	return string(b)
}

// A change of settings is written with all comments kept, and is in force at once.
func TestPatchSettings(t *testing.T) {
	p := openPatched(t, someTools)
	tag := p.tag()
	body := `{"changes":[{"key":["limits","max_chars"],"value":6000},{"key":["tools","grep_search","keep"],"value":["FAIL"]},{"key":["limits","max_lines"],"value":null},{"key":["mcp","max_sessions"],"value":9}]`
	status, _, text := p.do("PATCH", "/api/settings", tag, body+`,"dry_run":true}`)
	var out api.SettingsPatched
	if err := json.Unmarshal([]byte(text), &out); err != nil || status != 200 || out.Written || p.text() != someTools || !strings.Contains(out.Diff, "+max_chars = 6000\n") {
		t.Fatalf("dry run: %d %s", status, text)
	}
	status, h, text := p.do("PATCH", "/api/settings", tag, body+`}`)
	if err := json.Unmarshal([]byte(text), &out); err != nil || status != 200 || !out.Written || h.Get("ETag") != p.tag() || out.ETag != p.tag() {
		t.Fatalf("%d %s", status, text)
	}
	if got := strings.Join(out.InForce, " "); got != "limits.max_chars limits.max_lines tools.grep_search" || strings.Join(out.Restart, " ") != "mcp.max_sessions mcp.max_user_sessions" {
		t.Errorf("in force %q, after a restart %q", out.InForce, out.Restart)
	}
	want := strings.Replace(someTools, "# max_chars = 8000 # characters\nmax_lines = 400   # enough\n", "max_chars = 6000\n# max_chars = 8000 # characters\n# max_lines = 400   # enough\n", 1) +
		"\n[tools.grep_search]\nkeep = [\"FAIL\"]\n\n[mcp]\nmax_sessions = 9\n"
	if got := p.text(); got != want {
		t.Errorf("the file:\n%s\nwant\n%s", got, want)
	}
	if st, err := os.Stat(p.file); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the file's permissions: %v, %v", st.Mode(), err)
	}
	if _, _, now := p.do("GET", "/api/settings", "", ""); !strings.Contains(now, `"max_chars":6000`) || strings.Contains(now, "very-secret") {
		t.Errorf("in force: %s", now)
	}
	if status, _, text := p.do("PATCH", "/api/settings", tag, body+`}`); status != 412 || !strings.Contains(text, `"changed"`) {
		t.Errorf("with the tag of before: %d %s", status, text)
	}
	if status, _, text := p.do("PATCH", "/api/settings", p.tag(), `{"changes":[{"key":["limits","max_chars"],"value":6000}]}`); status != 200 || strings.Contains(text, `"written":true`) {
		t.Errorf("the same again: %d %s", status, text)
	}
}

// Of several changes to the same file one is written; the others have to look again.
func TestPatchesDoNotOverwriteEachOther(t *testing.T) {
	p := openPatched(t, someTools)
	tag := p.tag()
	var all sync.WaitGroup
	statuses := make([]int, 8)
	for i := range statuses {
		all.Go(func() {
			statuses[i], _, _ = p.do("PATCH", "/api/settings", tag, `{"changes":[{"key":["limits","max_chars"],"value":`+[]string{"1000", "2000", "3000", "4000", "5000", "6000", "7000", "9000"}[i]+`}]}`)
		})
	}
	all.Wait()
	done := 0
	for _, s := range statuses {
		switch s {
		case 200:
			done++
		case 412:
		default:
			t.Errorf("status %d", s)
		}
	}
	if done != 1 || strings.Count(p.text(), "\nmax_chars =") != 1 {
		t.Errorf("%d were written:\n%s", done, p.text())
	}
}

// A token alone must not become a shell, a way out of the machine or a way to its secrets.
func TestPatchNeverWrites(t *testing.T) {
	p := openPatched(t, someTools)
	for _, key := range []string{
		`["server","addr"]`, `["server","hosts"]`, `["Server","addr"]`, `["server.addr"]`, `["server"]`, `[]`, `[""]`, `null`,
		`["mcpServers","x","command"]`, `["mcpServers","x","url"]`, `["mcpServers"]`, `["sandbox","isolation"]`, `["sandbox","inline"]`,
		`["plugins","folder"]`, `["plugins","shipped"]`, `["grants","x","hosts"]`, `["grants","x","paths"]`, `["telemetry","endpoint"]`, `["log","level"]`,
		`["models","local","key"]`, `["models","local","base_url"]`, `["models","local","provider"]`, `["models","local","extra"]`, `["models","local"]`,
		`["users","ann","token"]`, `["users","ann","token_sha256"]`, `["users","ann","token_file"]`, `["agent","prefetch"]`, `["tools","x","config"]`, `["tools","x","config","base"]`,
		`["approvals","rule"]`, `["limits","max_chars","x"]`, `["tools","a\n[server]\naddr = \"0.0.0.0:1\"\n[x","max_chars"]`, `["tools","","max_chars"]`, `["tools","\u0000","max_chars"]`,
	} {
		for _, value := range []string{`"x"`, `7`, `["x"]`, `{"addr":"0.0.0.0:1"}`, `null`} {
			status, _, text := p.do("PATCH", "/api/settings", p.tag(), `{"changes":[{"key":`+key+`,"value":`+value+`}]}`)
			if status != 403 || !strings.Contains(text, `"not_writable"`) {
				t.Errorf("%s = %s: %d %s", key, value, status, text)
			}
		}
	}
	for _, row := range [][3]string{
		{`["agent","system"]`, `"${SECRET_KEY}"`, "not_writable"},
		{`["agent","deny_tools"]`, `["a","${SECRET_KEY}"]`, "not_writable"},
		{`["models","other","model"]`, `"x"`, "no_table"},
		{`["users","bob","models"]`, `["local"]`, "no_table"},
		{`["limits","max_chars"]`, `"6000"`, "bad_body"},
		{`["limits","max_chars"]`, `6000.5`, "bad_body"},
		{`["limits","max_chars"]`, `1e30`, "bad_body"},
		{`["limits","max_chars"]`, `true`, "bad_body"},
		{`["limits","max_chars"]`, `{"a":1}`, "bad_body"},
		{`["limits","timeout"]`, `30`, "bad_body"},
		{`["agent","tools"]`, `[["a"]]`, "bad_body"},
		{`["agent","tools"]`, `[1]`, "bad_body"},
		{`["agent","system"]`, `"` + strings.Repeat("x", 20_001) + `"`, "bad_body"},
		{`["limits","max_chars"]`, `5`, "config"},
		{`["limits","strategy"]`, `"middle"`, "config"},
		{`["limits","timeout"]`, `"soon"`, "config"},
		{`["agent","model"]`, `"nosuch"`, "config"},
		{`["limits","keep"]`, `["("]`, "config"},
	} {
		status, _, text := p.do("PATCH", "/api/settings", p.tag(), `{"changes":[{"key":["limits","max_lines"],"value":77},{"key":`+row[0]+`,"value":`+row[1]+`}]}`)
		if status < 400 || status >= 500 || !strings.Contains(text, `"`+row[2]+`"`) {
			t.Errorf("%s = %.40s: %d %.300s, want %s", row[0], row[1], status, text, row[2])
		}
	}
	change := `{"key":["limits","max_lines"],"value":78}`
	for body, want := range map[string]int{
		`{"changes":[]}`: 400, `{}`: 400, `{"changes":[` + change + `,` + change + `]}`: 400, `{"changes":[` + strings.Repeat(change+",", 100) + change + `]}`: 400,
		`{"changes":[` + change + `],"more":1}`: 400, strings.Repeat(" ", 10<<20) + `{}`: 413,
	} {
		if status, _, text := p.do("PATCH", "/api/settings", p.tag(), body); status != want {
			t.Errorf("%.60s: %d %.200s", body, status, text)
		}
	}
	if status, _, text := p.do("PATCH", "/api/settings", "", `{"changes":[`+change+`]}`); status != 428 {
		t.Errorf("without If-Match: %d %s", status, text)
	}
	if status, _, text := p.do("PATCH", "/api/settings", "*", `{"changes":[`+change+`]}`); status != 412 {
		t.Errorf("with *: %d %s", status, text)
	}
	if got := p.text(); got != someTools {
		t.Errorf("the file was changed:\n%s", got)
	}
}

// Names that are written in quotes change no other table.
func TestPatchOfStrangeNames(t *testing.T) {
	p := openPatched(t, someTools)
	for _, name := range []string{`a.b`, `x"]`, `]`, `#`, `server`, `' '`, `中文`, `a = 1`} {
		raw, _ := json.Marshal(name)
		if status, _, text := p.do("PATCH", "/api/settings", p.tag(), `{"changes":[{"key":["tools",`+string(raw)+`,"max_chars"],"value":700}]}`); status != 200 {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	if s, faults := config.Parse("tools.toml", p.text()); len(faults) > 0 || s.Server.Addr != "127.0.0.1:8420" || len(s.Tools) != 8 || s.Tools[`x"]`].MaxChars != 700 {
		t.Errorf("%v\n%s", faults, p.text())
	}
}

// A file that is written in another way is not damaged: the lines are there to copy.
func TestPatchOfAnInlineTable(t *testing.T) {
	text := "limits = { max_lines = 400 }\n"
	p := openPatched(t, text)
	status, _, got := p.do("PATCH", "/api/settings", p.tag(), `{"changes":[{"key":["limits","max_chars"],"value":6000}]}`)
	if status != 422 || !strings.Contains(got, "not_editable") || !strings.Contains(got, "limits.max_chars = 6000") || p.text() != text {
		t.Errorf("%d %s", status, got)
	}
}

// A file that another one links to stays where it is.
func TestPatchOfALink(t *testing.T) {
	p := openPatched(t, someTools)
	real := filepath.Join(t.TempDir(), "real.toml")
	if err := os.Rename(p.file, real); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, p.file); err != nil {
		t.Fatal(err)
	}
	if status, _, text := p.do("PATCH", "/api/settings", p.tag(), `{"changes":[{"key":["locale"],"value":"zh"}]}`); status != 200 {
		t.Fatalf("%d %s", status, text)
	}
	if st, err := os.Lstat(p.file); err != nil || st.Mode()&os.ModeSymlink == 0 || !strings.Contains(p.text(), `locale = "zh"`) {
		t.Errorf("%v %v\n%s", st.Mode(), err, p.text())
	}
}

// The schema says what a key means, its default, and where the file has it.
func TestSettingsSchema(t *testing.T) {
	p := openPatched(t, someTools)
	var en, zh api.SettingsSchema
	status, _, text := p.do("GET", "/api/settings/schema", "", "")
	if err := json.Unmarshal([]byte(text), &en); err != nil || status != 200 || en.File != p.file {
		t.Fatalf("%d %.300s", status, text)
	}
	keys := map[string]api.SettingKey{}
	for _, k := range en.Keys {
		keys[strings.Join(k.Key, ".")] = k
		if k.Meaning.IsZero() || k.Type == "" {
			t.Errorf("%+v", k)
		}
	}
	lines := keys["limits.max_lines"]
	if lines.Type != "integer" || lines.Unit != "lines" || lines.Default != 500.0 || lines.Restart || len(lines.Written) != 1 || lines.Written[0].Value != 400.0 || lines.Written[0].Line != 9 {
		t.Errorf("%+v", lines)
	}
	if s := keys["agent.system"]; len(s.Written) != 1 || s.Written[0].Variable != "TONE" || s.Written[0].Line != 12 {
		t.Errorf("%+v", s)
	}
	if m := keys["models.*.model"]; len(m.Written) != 1 || strings.Join(m.Written[0].Key, ".") != "models.local.model" {
		t.Errorf("%+v", m)
	}
	if s := keys["mcp.max_sessions"]; !s.Restart || s.Default != 256.0 || len(s.Written) != 0 {
		t.Errorf("%+v", s)
	}
	for key, kind := range map[string]string{"limits.timeout": "string", "limits.keep": "string or list", "mcp.tools": "string or list", "agent.tools": "list", "limits.head": "number", "summarize.enabled": "boolean", "users.*.quota.archive_bytes": "string"} {
		if keys[key].Type != kind {
			t.Errorf("%s is %q, want %q", key, keys[key].Type, kind)
		}
	}
	if strings.Contains(text, "SECRET") || strings.Contains(text, "token_sha256") {
		t.Errorf("%s", text)
	}
	req, _ := http.NewRequestWithContext(t.Context(), "GET", p.url+"/api/settings/schema", nil)
	req.Header.Set("Authorization", "Bearer "+p.Token)
	req.Header.Set("Accept-Language", "zh")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&zh); err != nil || !strings.Contains(zh.Keys[0].Meaning.String(), "语言") {
		t.Errorf("%v %+v", err, zh.Keys[:1])
	}
}
