package conform

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// wholes are calls of the shipped tools with much to say, and how many entries their
// results have.
var wholes = []struct {
	tool, args string
	entries    int
}{
	{"read_file", `{"file_path":"many.csv"}`, 0},
	{"grep_search", `{"pattern":"needle"}`, 600},
	{"get_repo_structure", `{}`, 526},
	{"repo_map", `{"repo_path":"."}`, 520},
	{"read_data_from_excel", `{"filepath":"book.xlsx"}`, 1200},
	{"json_query", `{"json":"null","filter":"range(2000)"}`, 2000},
	{"query_csv", `{"file_path":"many.csv","sql":"SELECT * FROM data"}`, 1500},
	{"database", `{"file_path":"rivers.db","sql":"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c WHERE x<1500) SELECT x FROM c"}`, 1500},
	{"text_diff", `{"old_path":"many.csv","new_path":"changed.csv","context":1}`, 25},
	{"search_web", `{"query":"dams"}`, 10},
	{"search_wikipedia", `{"query":"dams","limit":10}`, 10},
	{"fetch_url", `{"url":"https://example.com/page"}`, 0},
	{"http_request", `{"url":"https://example.com/json"}`, 0},
	{"long_text", `{}`, 0},
	{"calculator", `{"expression":"2^3000"}`, 0},
	{"current_time", `{"zone":"UTC"}`, 0},
	{"image_gen", `{"prompt":"a dam"}`, 0},
}

// No shipped tool shortens for the model on its own: with the smallest limits its whole,
// which is what the archive has, is the one that it gives with the largest. What the notice
// counts is exact, and the call that it names loads what is left out.
func TestShippedToolsHandOverTheWhole(t *testing.T) {
	work := workspace(t)
	small, large := shippedHost(t, work, tool.Limits{MaxChars: tool.MinMaxChars, MaxLines: 3}), shippedHost(t, work, tool.Limits{MaxChars: 1 << 30, MaxLines: 1 << 30})
	tested := map[string]bool{}
	for _, tt := range wholes {
		tested[tt.tool] = true
		t.Run(tt.tool, func(t *testing.T) {
			want := call(t, large.Session("me", "large").ByPerson(), tool.Call{ID: "1", Tool: tt.tool, Args: json.RawMessage(tt.args)})
			for _, agent := range []int{0, 1000} {
				s := small.Session("me", fmt.Sprint("small", agent)).ByPerson()
				r := call(t, s, tool.Call{ID: "1", Tool: tt.tool, Args: json.RawMessage(tt.args), MaxChars: agent})
				if r.Whole() != want.Whole() && tt.tool != "current_time" {
					t.Fatalf("the whole has %d characters, and %d with large limits", r.Shown.TotalChars, want.Shown.TotalChars)
				}
				if r.More != nil {
					t.Errorf("it claims that there is more: %+v", r.More)
				}
				counted(t, r, tt.entries)
				loaded(t, s, r)
			}
		})
	}
	for _, spec := range large.Session("me", "all").Tools() {
		if !tested[spec.Name] && !tool.IsBuiltIn(spec.Name) {
			t.Errorf("%s is not tested", spec.Name)
		}
	}
}

// Without an agent a model reads the first 100 matches, or as many as fit. An agent's
// number takes their place: more room shows more matches, up to the ceiling.
func TestMoreRoomShowsMoreMatches(t *testing.T) {
	h := shippedHost(t, workspace(t), tool.Limits{})
	search := func(agent int) tool.View {
		return call(t, h.Session("me", "here").ByPerson(), tool.Call{ID: "1", Tool: "grep_search", Args: json.RawMessage(`{"pattern":"needle"}`), MaxChars: agent}).Shown
	}
	if v := search(0); v.ShownEntries != 100 || v.Unit != tool.EntryUnit || v.By != tool.LayerTool || v.Limit != 100 {
		t.Errorf("without an agent: %d matches by %s, %d %s", v.ShownEntries, v.By, v.Limit, v.Unit)
	}
	last := 0
	for _, agent := range []int{1000, 4000, 8000, 16_000} {
		v := search(agent)
		if v.ShownEntries <= last || v.TotalEntries != 600 {
			t.Errorf("with %d characters: %d of %d matches, and %d with less", agent, v.ShownEntries, v.TotalEntries, last)
		}
		last = v.ShownEntries
	}
	if last <= 200 {
		t.Errorf("with 16,000 characters: %d matches", last)
	}
}

// A tool that has more than the host keeps fills it, in the memory that its manifest
// declares, and names the call that goes on.
func TestShippedToolsFillWhatTheHostKeeps(t *testing.T) {
	dir := t.TempDir()
	line := "needle " + strings.Repeat("x", 290) + "\n"
	for i := range 3 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), []byte(strings.Repeat(line, 14_000)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "all"), []byte(strings.Repeat(line, 40_000)), 0o644); err != nil {
		t.Fatal(err)
	}
	h := shippedHost(t, dir, tool.Limits{MaxChars: tool.MinMaxChars, MaxLines: 3})
	for name, args := range map[string]string{
		"grep_search": `{"pattern":"needle","glob":"[0-9]"}`,
		"read_file":   `{"file_path":"all"}`,
		"query_csv":   `{"file_path":"all","header":false,"sql":"SELECT * FROM data"}`,
		"json_query":  `{"json":"null","filter":"range(100000) | \"needle\" * 40"}`,
	} {
		r := call(t, h.Session("me", "here").ByPerson(), tool.Call{ID: "1", Tool: name, Args: json.RawMessage(args)})
		if n := len(r.Whole()); r.Incomplete || n < tool.MaxWhole*9/10 || r.More == nil || len(r.More.Args) == 0 {
			t.Errorf("%s: %d bytes, incomplete %v, more %+v", name, n, r.Incomplete, r.More)
		}
	}
}

// counted checks the entries of a view by counting the lines that its gaps leave out.
func counted(t *testing.T, r tool.Result, entries int) {
	t.Helper()
	v, shown := r.Shown, 0
	if r.Entries != nil {
		ends := append(r.Entries.Lines[1:len(r.Entries.Lines):len(r.Entries.Lines)], v.TotalLines+1)
		for i, first := range r.Entries.Lines {
			whole := true
			for _, g := range v.Gaps {
				whole = whole && (g.Last < first || g.First >= ends[i])
			}
			if whole {
				shown++
			}
		}
	}
	if v.TotalEntries != entries || v.ShownEntries != shown {
		t.Errorf("%d of %d entries are said to be shown, and %d of %d are", v.ShownEntries, v.TotalEntries, shown, entries)
	}
}

var loadCall = regexp.MustCompile(`load_tool_history\(uuid="([^"]+)", lines="([^"]+)"\)`)

// loaded makes the call that the notice names.
func loaded(t *testing.T, s *host.Session, r tool.Result) {
	t.Helper()
	if r.Shown.TotalEntries == 0 || !r.Shown.Cut() {
		return
	}
	notice := limit.Render(r, tool.En)
	m := loadCall.FindStringSubmatch(notice)
	if m == nil {
		t.Fatalf("no call in %s", notice)
	}
	rest := call(t, s, tool.Call{ID: "2", Tool: tool.LoadHistory, Args: json.RawMessage(fmt.Sprintf(`{"uuid":%q,"lines":%q}`, m[1], m[2]))})
	head, tail := r.Shown.Text[:r.Shown.Gaps[0].At], r.Shown.Text[r.Shown.Gaps[0].At:]
	whole := r.Whole()
	if len(r.Shown.Gaps) > 1 || !strings.HasPrefix(whole, head) || !strings.HasSuffix(whole, tail) {
		t.Fatalf("it is not cut once: %+v", r.Shown.Gaps)
	}
	missing := whole[len(head) : len(whole)-len(tail)]
	begins := head == "" || strings.HasSuffix(head, "\n")
	if begins && rest.Whole() != missing || !strings.HasSuffix(rest.Whole(), missing) {
		t.Errorf("lines %s are not what is left out", m[2])
	}
}

func call(t *testing.T, s *host.Session, c tool.Call) tool.Result {
	t.Helper()
	r, err := s.Call(t.Context(), c)
	if err != nil || r.Err != nil {
		t.Fatal(c.Tool, " ", err, r.Err)
	}
	return r
}

// shippedHost opens a host with all shipped plugins under the limits.
func shippedHost(t *testing.T, work string, l tool.Limits) *host.Host {
	t.Helper()
	manifests, err := filepath.Glob(filepath.Join(guesttest.Root(t), "plugins", "*", "plugin.toml"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range manifests {
		names = append(names, filepath.Base(filepath.Dir(m)))
	}
	folder := []plugin.PathGrant{{Guest: "/workspace", Host: work}}
	set := host.Settings{
		Folders: []plugin.Folder{{Path: guesttest.Shipped(t, names...), Trust: plugin.TrustGranted}}, CeilingChars: 1 << 30,
		Tools: map[string]host.ToolConfig{}, Grants: map[string]plugin.Grant{},
		Approvals: approval.Policy{Default: approval.Allow},
	}
	for _, tt := range wholes {
		set.Tools[tt.tool] = host.ToolConfig{Limits: l}
	}
	for _, name := range names {
		set.Grants[name] = plugin.Grant{Paths: folder, Hosts: []plugin.HostGrant{{Host: "*"}}, Secrets: []string{"TAVILY_API_KEY", "ARK_API_KEY"}}
	}
	h, err := host.Open(t.Context(), host.Config{
		Settings: set, CacheDir: guesttest.Cache(t), WorkerCommand: worker, Transport: web{},
		Secret: func(string) (string, bool) { return "key", true },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	for _, p := range h.Plugins() {
		if p.State != plugin.Ready {
			t.Fatalf("%s is %s: %s", p.Name, p.State, p.Why)
		}
	}
	return h
}

// web answers the requests of the tools.
type web struct{}

func (web) RoundTrip(r *http.Request) (*http.Response, error) {
	long := strings.Repeat("water ", 100)
	var body any
	switch {
	case r.URL.Host == "api.tavily.com":
		var results []any
		for i := range 10 {
			results = append(results, map[string]string{"title": fmt.Sprint("Dam ", i), "url": "https://example.com", "content": long})
		}
		body = map[string]any{"answer": "Dams hold water.", "results": results}
	case strings.HasSuffix(r.URL.Host, "wikipedia.org"):
		var pages []any
		for i := range 10 {
			pages = append(pages, map[string]any{"index": i, "title": fmt.Sprint("Dam ", i), "extract": long, "fullurl": "https://example.com"})
		}
		body = map[string]any{"query": map[string]any{"pages": pages}}
	case r.URL.Path == "/json":
		body = strings.Split(long, " ")
	case r.URL.Path == "/page":
		return reply(r, "text/html", "<h1>Dams</h1>"+strings.Repeat("<p>"+long+"</p>", 50)), nil
	default:
		body = map[string]any{"data": []any{map[string]string{"b64_json": "iVBORw0KGgo="}}}
	}
	text, err := json.Marshal(body)
	return reply(r, "application/json", string(text)), err
}

func reply(r *http.Request, kind, body string) *http.Response {
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(body)), Request: r}
}

// workspace is a folder with much in it.
func workspace(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var rows, changed, hay strings.Builder
	rows.WriteString("n,name\n")
	changed.WriteString("n,name\n")
	for i := range 1500 {
		fmt.Fprintf(&rows, "%d,row %d\n", i, i)
		fmt.Fprintf(&changed, "%d,row %d%s\n", i, i, strings.Repeat("!", b2i(i%60 == 10)))
	}
	for i := range 600 {
		fmt.Fprintf(&hay, "a needle %d\nhay\nhay\n", i)
	}
	write("many.csv", rows.String())
	write("changed.csv", changed.String())
	write("hay.txt", hay.String())
	write("rivers.db", string(rivers(t)))
	write("book.xlsx", string(book(t, 1200)))
	write("deep/a/b/c/d/e.txt", "deep\n")
	for i := range 520 {
		write(fmt.Sprintf("code/f%03d.go", i), fmt.Sprintf("package code\n\nfunc F%d() {}\n", i))
	}
	return dir
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// rivers is the database of the cases of the tool database.
func rivers(t *testing.T) []byte {
	t.Helper()
	cases, err := os.ReadFile(filepath.Join(guesttest.Root(t), "plugins", "database", "tests", "database.toml"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`"rivers.db" = \{ base64 = "([^"]+)"`).FindSubmatch(cases)
	data, err := base64.StdEncoding.DecodeString(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// book is a workbook of one sheet with so many rows.
func book(t *testing.T, rows int) []byte {
	t.Helper()
	const main, rel = "http://schemas.openxmlformats.org/spreadsheetml/2006/main", "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
	var sheet strings.Builder
	for i := range rows {
		fmt.Fprintf(&sheet, `<row r="%d"><c r="A%d" t="inlineStr"><is><t>row %d</t></is></c></row>`, i+1, i+1, i)
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range [][2]string{
		{"[Content_Types].xml", `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/></Types>`},
		{"_rels/.rels", `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="` + rel + `/officeDocument" Target="xl/workbook.xml"/></Relationships>`},
		{"xl/workbook.xml", `<workbook xmlns="` + main + `" xmlns:r="` + rel + `"><sheets><sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>`},
		{"xl/_rels/workbook.xml.rels", `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="` + rel + `/worksheet" Target="worksheets/sheet1.xml"/></Relationships>`},
		{"xl/worksheets/sheet1.xml", `<worksheet xmlns="` + main + `"><sheetData>` + sheet.String() + `</sheetData></worksheet>`},
	} {
		w, err := z.Create(f[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, f[1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
