package daemon

import (
	"bytes"
	"image"
	"image/png"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/sdk/tool"
)

// kept archives a text and returns its uuid.
func (s *server) kept(text string) string {
	return s.keep(`{"tool_name":"their tool/../x","result":` + quoted(text) + `}`).UUID
}

func TestMatchesOfOneResult(t *testing.T) {
	s := newServer(t, replay.New())
	long := strings.Repeat("é", 5000)
	at := "/api/archives/" + s.kept("one Panic\n\n"+long+"panic 恐慌 PANIC\n"+strings.Repeat("filler\n", 500)) + "/matches?q="
	m := decoded[api.TextMatches](t, s.get(at+"panic"))
	if m.Total != 3 || len(m.Matches) != 3 || m.Lines != 503 || m.Next != 0 {
		t.Fatalf("%+v", m)
	}
	if h := m.Matches[0]; h.Line != 1 || h.From != 4 || h.To != 9 || h.Text != "one Panic" || h.TextFrom != 0 {
		t.Errorf("%+v", h)
	}
	last := m.Matches[2]
	if last.Line != 3 || last.From != 5000+len("panic ")+len([]rune("恐慌 ")) || last.To != last.From+5 {
		t.Errorf("%+v", last)
	}
	for _, h := range m.Matches {
		if text := []rune(h.Text); len(text) > 240 || !strings.EqualFold(string(text[h.From-h.TextFrom:h.To-h.TextFrom]), "panic") {
			t.Errorf("%d characters around %+v", len(text), h)
		}
	}
	for query, want := range map[string]int{
		"panic&case=true": 1, "恐慌": 1, "p.nic%7Cfill&regex=true": 503, "^$&regex=true": 1, "x*&regex=true": 503, "nothing here": 0, "p.nic": 0, "%C3%89&case=false": 5000,
	} {
		if m := decoded[api.TextMatches](t, s.get(at+strings.ReplaceAll(query, " ", "+"))); m.Total != want {
			t.Errorf("%s: %d hits, want %d", query, m.Total, want)
		}
	}
	page := decoded[api.TextMatches](t, s.get(at+"filler&limit=10&offset=495"))
	if len(page.Matches) != 5 || page.Total != 500 || page.Next != 0 || page.Matches[0].Line != 499 {
		t.Errorf("the last page: %+v", page)
	}
	if page = decoded[api.TextMatches](t, s.get(at+"filler&limit=10")); page.Next != 10 || len(page.Matches) != 10 {
		t.Errorf("the first page: %+v", page)
	}
	for _, bad := range []string{"", "(&regex=true", strings.Repeat("x", 1001), "x&limit=-1", "x&regex=perhaps", "x&case=2"} {
		if a := s.get(at + bad); a.code(t) != "bad_query" {
			t.Errorf("%.20s: %s", bad, a.body)
		}
	}
}

// More hits than anybody reads cost no memory without bound.
func TestMatchesAreBounded(t *testing.T) {
	s := newServer(t, replay.New())
	m := decoded[api.TextMatches](t, s.get("/api/archives/"+s.kept(strings.Repeat("a", 2<<20))+"/matches?q=a&limit=1000000"))
	if len(m.Matches) != 10_000 || m.Total != 100_000 || !m.More || m.Next != 10_000 {
		t.Errorf("%d of %d hits, more %v, next %d", len(m.Matches), m.Total, m.More, m.Next)
	}
}

// An expression cannot take a processor for minutes, and a text is found in linear time.
func TestExpensiveSearches(t *testing.T) {
	s := newServer(t, replay.New())
	uuid := s.kept(strings.Repeat("a", 8<<20))
	at := "/api/archives/" + uuid + "/matches?q="
	for _, expr := range []string{".{0,100}z", "(a|b){500}c", "[a-z]{0,50}[a-z]{0,50}z"} {
		if a := s.get(at + url.QueryEscape(expr) + "&regex=true"); a.code(t) != "bad_query" {
			t.Errorf("%s: %d %.200s", expr, a.status, a.body)
		}
		if a := s.post("/api/cut", `{"uuid":"`+uuid+`","keep":[`+quoted(expr)+`]}`); a.code(t) != "bad_body" {
			t.Errorf("%s: %d %.200s", expr, a.status, a.body)
		}
	}
	if m := decoded[api.TextMatches](t, s.get(at+strings.Repeat("A", 999)+"b")); m.Total != 0 {
		t.Errorf("%d hits", m.Total)
	}
	if m := decoded[api.TextMatches](t, s.get(at+"a%2Bz&regex=true")); m.Total != 0 {
		t.Errorf("%d hits", m.Total)
	}
}

func TestClippedLines(t *testing.T) {
	s := newServer(t, replay.New())
	var text strings.Builder
	long := func(i int) int { return i % 300 } // characters after the number
	wide := 0
	for i := range 2200 {
		line := strconv.Itoa(i) + strings.Repeat("字", long(i))
		text.WriteString(line + "\n")
		if utf8.RuneCountInString(line) > 100 {
			wide++
		}
	}
	uuid := s.kept(text.String())
	read, offset, clipped := "", 0, 0
	for range 100 {
		p := decoded[api.ArchivePage](t, s.get("/api/archives/"+uuid+"?clip=100&offset="+strconv.Itoa(offset)))
		for _, c := range p.Clipped {
			line := strings.Split(p.Text, "\n")[c.Line-1]
			if n, _ := strconv.Atoi(strings.TrimRight(line, "字")); c.Chars != long(n)+len(strconv.Itoa(n)) || utf8.RuneCountInString(line) != 100 {
				t.Fatalf("the line %d is said to have %d characters", n, c.Chars)
			}
			clipped++
		}
		if read, offset = read+p.Text, p.Next; offset == 0 {
			break
		}
	}
	lines := strings.Split(read, "\n")
	if offset != 0 || len(lines) != 2201 || !strings.HasPrefix(lines[2199], "2199字") || clipped != wide {
		t.Errorf("%d lines, %d of %d clipped", len(lines), clipped, wide)
	}
	one := s.kept(strings.Repeat("x", 500_000))
	if p := decoded[api.ArchivePage](t, s.get("/api/archives/"+one+"?clip=2000")); len(p.Text) != 2000 || p.Next != 0 || p.Clipped[0].Chars != 500_000 {
		t.Errorf("one long line: %d characters, next %d, %+v", len(p.Text), p.Next, p.Clipped)
	}
	if a := s.get("/api/archives/" + one + "?clip=-1"); a.code(t) != "bad_query" {
		t.Errorf("%s", a.body)
	}
}

func TestRawResult(t *testing.T) {
	s := newServer(t, replay.New())
	text := strings.Repeat("<script>alert(1)</script> 完整\n", 9000)
	uuid := s.kept(text)
	a := s.get("/api/archives/" + uuid + "/raw")
	if a.body != text || a.header.Get("Content-Type") != "text/plain; charset=utf-8" || a.header.Get("X-Content-Type-Options") != "nosniff" ||
		a.header.Get("Content-Disposition") != "attachment; filename=theirtoolx-"+uuid+".txt" {
		t.Errorf("%d bytes, %v", len(a.body), a.header)
	}
	// The document of the API has the statuses of whole downloads; a Range is that of HTTP.
	part := func(from string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), "GET", s.url+"/api/archives/"+uuid+"/raw", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+testToken)
		r.Header.Set("Range", from)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode, resp.Header.Get("Content-Range")
	}
	if status, of := part("bytes=1-7"); status != 206 || of != "bytes 1-7/"+strconv.Itoa(len(text)) {
		t.Errorf("%d %q", status, of)
	}
	if status, _ := part("bytes=99999999-"); status != 416 {
		t.Errorf("status %d", status)
	}
}

func TestCutUnderOtherLimits(t *testing.T) {
	s := newServer(t, replay.New())
	live := decoded[api.ToolCallResult](t, s.post("/api/tools/long_text/call", `{"arguments":{}}`))
	same := decoded[api.CutText](t, s.post("/api/cut", `{"uuid":"`+live.KeptUUID+`"}`))
	if same.Text != live.Text || same.Layer != live.Layer || same.Limit != live.Limit || len(same.Gaps) != len(live.Gaps) || same.Shown != live.Shown {
		t.Errorf("without a change: %s, %d characters; it was %s, %d", same.Layer, same.Shown, live.Layer, live.Shown)
	}
	less := decoded[api.CutText](t, s.post("/api/cut", `{"uuid":"`+live.KeptUUID+`","max_chars":600,"keep":["line 300:"]}`))
	if less.Layer != tool.LayerOperator || less.Limit != 600 || utf8.RuneCountInString(less.Text) > 600 || len(less.Kept) != 1 || less.Kept[0].Line != 300 ||
		!strings.Contains(less.Text, live.KeptUUID) || less.Tokens == 0 || less.Tokens >= same.Tokens {
		t.Errorf("with 600: %+v", less)
	}
	if most := decoded[api.CutText](t, s.post("/api/cut", `{"uuid":"`+live.KeptUUID+`","max_chars":1000000,"max_lines":100000}`)); most.MaxChars != tool.DefaultCeiling || most.CharsBy != tool.LayerCeiling {
		t.Errorf("over the ceiling: %d by %s", most.MaxChars, most.CharsBy)
	}
	if a := decoded[api.CutText](t, s.post("/api/cut", `{"uuid":"`+live.KeptUUID+`","max_tool_result_length":1}`)); a.Layer != tool.LayerAgent || a.Limit != 1000 {
		t.Errorf("of an agent: %s %d", a.Layer, a.Limit)
	}
	zh := decoded[api.CutText](t, s.post("/api/cut", `{"text":`+quoted(strings.Repeat("一行文字\n", 5000))+`,"locale":"zh","strategy":"tail_only"}`))
	if zh.Layer != tool.LayerDefault || len(zh.Gaps) != 1 || zh.Gaps[0].First != 1 || !strings.Contains(zh.Text, "00000000-0000-4000-8000-000000000000") || !strings.Contains(zh.Text, "默认") {
		t.Errorf("a text: %+v", zh.Gaps)
	}
	if st := s.get("/api/stats").body; !strings.Contains(st, `"archives":1`) && strings.Count(s.get("/api/archives").body, `"uuid":`) != 1 {
		t.Errorf("a cut was stored: %s", st)
	}
}

func TestBadCuts(t *testing.T) {
	s := newServer(t, replay.New())
	keep := `"` + strings.Repeat(`x","`, 64) + `x"`
	for body, code := range map[string]string{
		`{}`:                                                            "bad_body",
		`{"text":"x","uuid":"y"}`:                                       "bad_body",
		`{"text":"x","max":1}`:                                          "bad_body",
		`{"text":"x","locale":"fr"}`:                                    "bad_body",
		`{"text":"x","max_chars":299}`:                                  "bad_body",
		`{"text":"x","max_chars":-1}`:                                   "bad_body",
		`{"text":"x","max_lines":1}`:                                    "bad_body",
		`{"text":"x","keep_context":-1}`:                                "bad_body",
		`{"text":"x","head":0.9,"tail":0.2}`:                            "bad_body",
		`{"text":"x","strategy":"middle"}`:                              "bad_body",
		`{"text":"x","keep":["("]}`:                                     "bad_body",
		`{"text":"x","keep":[""]}`:                                      "bad_body",
		`{"text":"x","keep":["auto","none"]}`:                           "bad_body",
		`{"text":"x","keep":[` + keep + `]}`:                            "bad_body",
		`{"text":"x","tool":"nosuch"}`:                                  "unknown_tool",
		`{"uuid":"nosuch"}`:                                             "not_found",
		`{"text":` + quoted(strings.Repeat("x", tool.MaxWhole+1)) + `}`: "bad_body",
		`{"text":` + quoted(strings.Repeat("x", 3*tool.MaxWhole)) + `}`: "too_large",
	} {
		a := s.post("/api/cut", body)
		if got := a.code(t); got != code {
			t.Errorf("%.60s: %q, want %q: %.200s", body, got, code, a.body)
		}
	}
}

// A picture of a result is served as what it is, another file as a download that no browser
// opens; what the tool called them does not matter. The result and the stored message name them.
func TestPartsOfAResult(t *testing.T) {
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 3, 2))); err != nil {
		t.Fatal(err)
	}
	svg := `<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`
	s := newServer(t, replay.New())
	e, err := s.host.Archive().(*archive.SQLite).Put(t.Context(), archive.Entry{
		Scope: archive.Scope{Principal: "local", Conversation: "c"}, Tool: "image_gen", Input: []byte("{}"), Full: "made",
		Parts: []tool.Blob{{Name: "picture.png", MIME: "image/svg+xml", Data: picture.Bytes()}, {Name: "a.png", MIME: "image/png", Data: []byte(svg)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if ref := e.Ref(); len(ref.Parts) != 2 || ref.Parts[0] != (tool.Part{Name: "picture.png", MIME: "image/svg+xml", Bytes: picture.Len()}) {
		t.Errorf("%+v", ref.Parts)
	}
	for n, want := range []struct{ body, kind, disposition string }{
		{picture.String(), "image/png", "inline; filename=picture.png"},
		{svg, "application/octet-stream", "attachment; filename=a.png"},
	} {
		a := s.get("/api/archives/" + e.UUID + "/parts/" + strconv.Itoa(n))
		h := a.header
		if a.status != 200 || a.body != want.body || h.Get("Content-Type") != want.kind || h.Get("Content-Disposition") != want.disposition ||
			h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Content-Security-Policy") != "default-src 'none'; sandbox" {
			t.Errorf("part %d: %d, %v", n, a.status, h)
		}
	}
	for _, bad := range []string{"2", "-1", "x", "99999999999999999999"} {
		if a := s.get("/api/archives/" + e.UUID + "/parts/" + bad); a.status != 404 {
			t.Errorf("part %s: %d %s", bad, a.status, a.body)
		}
	}
}
