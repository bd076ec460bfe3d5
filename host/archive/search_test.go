package archive

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirhost/weir/host/internal/snippet"
)

func TestSearch(t *testing.T) {
	c := newClock()
	s := openTest(t, func(cfg *Config) { cfg.Now = c.now })
	guide := put(t, s, "永策Pro 使用指南\n\n一、登录\n二、权限管理：先建角色\n三、在角色里配置权限\n")
	c.forward(time.Minute)
	log := putEntry(t, s, Entry{Scope: mine, Tool: "run_tests", Input: []byte(`{"command":"go test ./limit"}`),
		Full: "=== RUN TestCut\ncut_test.go:12: Timeout waiting\nretry after TIMEOUT\nok\n"})
	if err := s.Compact(t.Context()); err != nil { // both kinds of rows are searched
		t.Fatal(err)
	}
	c.forward(time.Minute)
	code := put(t, s, "func retry() {\n\t// waits for the timeout\n}\n")
	type hit struct {
		uuid string
		line int
		text string
	}
	for name, row := range map[string]struct {
		query string
		want  []hit // the newest archive first
	}{
		"a word, in any case":                    {"TimeOut", []hit{{code.UUID, 2, "// waits for the timeout"}, {log.UUID, 2, "cut_test.go:12: Timeout waiting"}, {log.UUID, 3, "retry after TIMEOUT"}}},
		"all words":                              {"retry waiting", []hit{{log.UUID, 2, "cut_test.go:12: Timeout waiting"}, {log.UUID, 3, "retry after TIMEOUT"}}},
		"two characters":                         {"权限", []hit{{guide.UUID, 4, "二、权限管理：先建角色"}, {guide.UUID, 5, "三、在角色里配置权限"}}},
		"two Chinese words":                      {"配置 登录", []hit{{guide.UUID, 3, "一、登录"}, {guide.UUID, 5, "三、在角色里配置权限"}}},
		"one character":                          {"角", []hit{{guide.UUID, 4, "二、权限管理：先建角色"}, {guide.UUID, 5, "三、在角色里配置权限"}}},
		"a word of the call alone":               {"run_tests", []hit{{log.UUID, 0, "go test ./limit"}}},
		"a word of the call and one of the text": {"./limit retry", []hit{{log.UUID, 3, "retry after TIMEOUT"}}},
		"a word twice":                           {"login login", nil},
		"nothing":                                {"no-such-word", nil},
		"one of two is missing":                  {"timeout no-such-word", nil},
		"an expression is a word":                {"time.*", nil},
	} {
		r, err := s.Search(t.Context(), mine, row.query, SearchOptions{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []hit
		for _, h := range r.Hits {
			got = append(got, hit{h.Entry.UUID, h.Line, h.Snippet})
			if h.Entry.Full != "" || h.Entry.Tool == "" {
				t.Errorf("%s: entry %+v", name, h.Entry)
			}
		}
		if len(got) != len(row.want) {
			t.Errorf("%s: %v, want %v", name, got, row.want)
			continue
		}
		for i := range got {
			if got[i] != row.want[i] {
				t.Errorf("%s: hit %d is %v, want %v", name, i, got[i], row.want[i])
			}
		}
		if r.Archives != 3 || r.Scanned != int64(guide.Bytes+log.Bytes+code.Bytes) || r.Stopped || r.Left != 0 {
			t.Errorf("%s: scanned %d archives, %d bytes, stopped %v, %d left", name, r.Archives, r.Scanned, r.Stopped, r.Left)
		}
	}
	for _, query := range []string{"", " \t\n"} {
		_, err := s.Search(t.Context(), mine, query, SearchOptions{})
		wantBadArgs(t, err)
	}
}

func TestSearchSaysWhereItStopped(t *testing.T) {
	s := openTest(t)
	text := strings.Repeat("a line with a word\n", 50)
	for range 10 {
		put(t, s, text)
	}
	n := int64(len(text))
	for name, row := range map[string]struct {
		query    string
		o        SearchOptions
		archives int
		hits     int
		left     int
	}{
		"the defaults":      {"word", SearchOptions{}, 7, DefaultHits, 3}, // three lines of each
		"all hits":          {"word", SearchOptions{Limit: -1}, 10, 30, 0},
		"few hits":          {"word", SearchOptions{Limit: 2}, 1, 2, 9},
		"few bytes":         {"word", SearchOptions{MaxBytes: 1, Limit: -1}, 1, 3, 9}, // what was begun is finished
		"bytes of three":    {"word", SearchOptions{MaxBytes: 3 * n}, 3, 9, 7},
		"exactly all bytes": {"nothing", SearchOptions{MaxBytes: 10 * n}, 10, 0, 0},
		"no bound":          {"nothing", SearchOptions{MaxBytes: -1}, 10, 0, 0},
	} {
		r, err := s.Search(t.Context(), mine, row.query, row.o)
		if err != nil || r.Archives != row.archives || len(r.Hits) != row.hits || r.Left != row.left || r.Stopped != (row.left > 0) {
			t.Errorf("%s: %d archives, %d hits, stopped %v, %d left, error %v; want %+v", name, r.Archives, len(r.Hits), r.Stopped, r.Left, err, row)
		}
	}
}

func TestSearchShowsTheLinesWithTheMostWords(t *testing.T) {
	s := openTest(t)
	for text, want := range map[string][]int{
		"alpha\nalpha\nalpha\nalpha beta\nbeta\nalpha\nbeta alpha\n":     {1, 4, 7}, // of equals the first
		"alpha\nbeta\nalpha\nalpha beta\nalpha beta\nalpha beta\nbeta\n": {4, 5, 6},
		"alpha\n\nbeta\n": {1, 3},
	} {
		e := put(t, s, text)
		r, err := s.Search(t.Context(), mine, "alpha beta", SearchOptions{})
		var got []int
		for _, h := range r.Hits {
			got = append(got, h.Line)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: lines %v, want %v; error %v", text, got, want, err)
		}
		if err := s.Drop(t.Context(), mine, e.UUID); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSnippetKeepsTheWordInSight(t *testing.T) {
	s := openTest(t)
	put(t, s, strings.Repeat("前面的话 ", 300)+"要找的词"+strings.Repeat(" 后面的话", 300)+"\n"+"İİİİ "+strings.Repeat("x", 500)+" needle")
	for _, word := range []string{"要找的词", "needle"} {
		r, err := s.Search(t.Context(), mine, word, SearchOptions{})
		if err != nil || len(r.Hits) != 1 {
			t.Fatalf("%d hits, error %v", len(r.Hits), err)
		}
		if got := r.Hits[0].Snippet; !strings.Contains(got, word) || len([]rune(got)) > snippet.Chars {
			t.Errorf("%q does not show %q in %d characters", got, word, snippet.Chars)
		}
	}
}
