package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weirhost/weir/sdk/tool"
)

// awkward are texts that stores and scanners get wrong.
var awkward = map[string]string{
	"empty":            "",
	"one newline":      "\n",
	"only newlines":    strings.Repeat("\n", 1000),
	"no last newline":  "a\nb",
	"NULs":             "a\x00b\x00\x00\n\x00",
	"Chinese":          "权限管理的配置步骤：第一步……\n第二步。",
	"joined emoji":     strings.Repeat("👨‍👩‍👧‍👦🏳️‍🌈🇨🇳", 50),
	"combining marks":  strings.Repeat("e\u0301\u0323", 500),
	"right to left":    "שלום עולם\nمرحبا بالعالم\n",
	"invalid UTF-8":    "a\xff\xfe\xc3(b", // cannot come from Normalise; must survive all the same
	"carriage returns": "a\r\nb\rc\r\n",
	"a long line":      strings.Repeat("0123456789abcdef", 1<<16),
	"quotes":           `'"` + "`" + `; DROP TABLE tool_result_archive; --`,
	"a number":         "0123", // SQLite must not make it 123
	"incompressible":   string(randomBytes(5000)),
}

func randomBytes(n int) []byte {
	sum, out := sha256.Sum256([]byte("seed")), make([]byte, 0, n+32)
	for len(out) < n {
		out = append(out, sum[:]...)
		sum = sha256.Sum256(sum[:])
	}
	return out[:n]
}

func TestPutKeepsEveryByte(t *testing.T) {
	s := openTest(t)
	ids := map[string]string{}
	for name, full := range awkward {
		ids[name] = putEntry(t, s, Entry{Scope: mine, Tool: "run", Full: full, Raw: []byte("raw of " + full)}).UUID
	}
	check := func(when string) {
		for name, full := range awkward {
			e, err := s.Get(t.Context(), mine, ids[name])
			if err != nil || e.Full != full {
				t.Errorf("%s, %s: error %v, %d bytes of %d", name, when, err, len(e.Full), len(full))
			}
			raw, err := s.Raw(t.Context(), mine, ids[name])
			if err != nil || string(raw) != "raw of "+full {
				t.Errorf("%s, %s: raw: error %v, %d bytes", name, when, err, len(raw))
			}
		}
	}
	check("as it came")
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("compressed")
}

func TestPutFillsIn(t *testing.T) {
	c := newClock()
	c.at = c.at.Add(123456 * time.Nanosecond) // finer than what is stored
	s := openTest(t, func(cfg *Config) { cfg.Now = c.now })
	full := "第一行\nsecond line, see https://example.com/a\n"
	sum := sha256.Sum256([]byte(full))
	got := putEntry(t, s, Entry{Scope: mine, Thread: "t1", Turn: 3, CallID: "call_001", Tool: "search_web",
		Input: json.RawMessage(` { "query" : "权限", "mode":"deep" } `), Full: full, Rules: 2, Parts: []tool.Blob{{MIME: "image/png", Data: []byte{1, 2}}},
		Expires: c.at.Add(time.Hour),
		// What only the store may set is set by the caller here.
		UUID: "x", SHA256: "x", Chars: 1, Loads: 7, LastLoad: c.at, Pruned: true})
	want := Entry{UUID: got.UUID, Scope: mine, Thread: "t1", Turn: 3, CallID: "call_001", Tool: "search_web",
		Input: json.RawMessage(`{"query":"权限","mode":"deep"}`), Full: full, Rules: 2, Parts: []tool.Blob{{MIME: "image/png", Data: []byte{1, 2}}},
		Query: "权限, mode=deep", Summary: "第一行 second line, see https://example.com/a",
		SHA256: hex.EncodeToString(sum[:]), Chars: 43, Lines: 2, Bytes: len(full),
		Sources: []tool.Source{{URL: "https://example.com/a"}},
		Created: c.at.Truncate(time.Millisecond), Expires: c.at.Add(time.Hour).Truncate(time.Millisecond)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Put (-want +got):\n%s", diff)
	}
	if !uuidPattern().MatchString(got.UUID) {
		t.Errorf("uuid %q", got.UUID)
	}
	stored, err := s.Get(t.Context(), mine, got.UUID)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, stored); diff != "" {
		t.Errorf("Get (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(got.Ref(), stored.Ref()); diff != "" {
		t.Errorf("the placeholder would change:\n%s", diff)
	}
}

func TestPutLeavesWhatTheCallerSays(t *testing.T) {
	s := openTest(t)
	got := putEntry(t, s, Entry{Scope: mine, Tool: "t", Full: strings.Repeat("see https://example.com ", 50), Query: strings.Repeat("问", 600),
		Summary: "told", Sources: []tool.Source{}})
	if got.Summary != "told" || got.Sources != nil || len([]rune(got.Query)) != 500 {
		t.Errorf("summary %q, sources %v, %d characters of query", got.Summary, got.Sources, len([]rune(got.Query)))
	}
	none := openTest(t, func(cfg *Config) { cfg.SummaryChars = -1 })
	if e := put(t, none, strings.Repeat("text ", 100)); e.Summary != "" {
		t.Errorf("summary %q, want none", e.Summary)
	}
}

func TestPutRefuses(t *testing.T) {
	s := openTest(t)
	for name, e := range map[string]Entry{
		"nobody's": {Scope: Scope{Conversation: "c"}, Tool: "t"}, // everyone without a principal would share it
		"no tool":  {Scope: mine},
	} {
		if _, err := s.Put(t.Context(), e); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

func TestPutInput(t *testing.T) {
	s := openTest(t)
	for in, want := range map[string]string{
		``:                       `{}`,
		"  \n":                   `{}`,
		`{ "a" : 1.50 }`:         `{"a":1.50}`, // a number stays as it was written
		`[1,2]`:                  `[1,2]`,
		`{"a":`:                  `"{\"a\":"`, // what is not JSON becomes a string, so that the column is JSON
		`{"a":9007199254740993}`: `{"a":9007199254740993}`,
	} {
		e := putEntry(t, s, Entry{Scope: mine, Tool: "t", Input: json.RawMessage(in)})
		if got, err := s.Get(t.Context(), mine, e.UUID); err != nil || string(got.Input) != want || string(e.Input) != want {
			t.Errorf("%q is kept as %s (Put said %s), want %s; error %v", in, got.Input, e.Input, want, err)
		}
	}
}

func TestPutOnceFindsWhatIsIdentical(t *testing.T) {
	c := newClock()
	s := openTest(t, func(cfg *Config) { cfg.Now = c.now })
	call := Entry{Scope: mine, Tool: "read", Input: json.RawMessage(`{"a":1,"b":[2]}`), Full: "text"}
	first := putEntry(t, s, call)
	for name, row := range map[string]struct {
		change func(*Entry)
		same   bool
	}{
		"the same again":           {func(e *Entry) {}, true},
		"members in another order": {func(e *Entry) { e.Input = json.RawMessage(`{"b": [2], "a": 1}`) }, true},
		"another turn and call":    {func(e *Entry) { e.Turn, e.CallID = 9, "x" }, true},
		"a reader of everything":   {func(e *Entry) { e.Scope.Everywhere = true }, true},
		"another thread":           {func(e *Entry) { e.Thread = "t" }, false},
		"another text":             {func(e *Entry) { e.Full = "Text" }, false},
		"other raw bytes":          {func(e *Entry) { e.Raw = []byte("t\x1b[0mext") }, false},
		"with parts":               {func(e *Entry) { e.Parts = []tool.Blob{{Data: []byte{1}}} }, false},
		"with an end":              {func(e *Entry) { e.Expires = c.at.Add(time.Hour) }, false},
		"another input":            {func(e *Entry) { e.Input = json.RawMessage(`{"a":1}`) }, false},
		"items in another order":   {func(e *Entry) { e.Input = json.RawMessage(`{"a":1,"b":[2,2]}`) }, false},
		"another tool":             {func(e *Entry) { e.Tool = "write" }, false},
		"another conversation":     {func(e *Entry) { e.Scope.Conversation = "c2" }, false},
		"another person":           {func(e *Entry) { e.Scope.Principal = "bob" }, false},
	} {
		e := call
		row.change(&e)
		got, again, err := s.PutOnce(t.Context(), e)
		if err != nil || again != row.same || (got.UUID == first.UUID) != row.same {
			t.Errorf("%s: %s, again %t, first %s: %v", name, got.UUID, again, first.UUID, err)
		}
		if again {
			continue
		}
		if back, err := s.Get(t.Context(), e.Scope, got.UUID); err != nil || back.Full != e.Full {
			t.Errorf("%s: %q, %v", name, back.Full, err)
		}
		if err := s.Drop(t.Context(), e.Scope, got.UUID); err != nil {
			t.Fatal(err)
		}
	}
	c.forward(time.Minute)
	second := putEntry(t, s, call)
	c.forward(time.Minute)
	if third, again, err := s.PutOnce(t.Context(), call); err != nil || !again || third.UUID != second.UUID {
		t.Errorf("identical to %s (%t), want the newest, %s: %v", third.UUID, again, second.UUID, err)
	}
}

// An entry that PutOnce returns is kept for as long as one that is put then.
func TestPutOnceRenews(t *testing.T) {
	c := newClock()
	s := openTest(t, func(cfg *Config) { cfg.Now, cfg.MaxAge = c.now, 24*time.Hour })
	e := put(t, s, "text")
	c.forward(23 * time.Hour)
	got, again, err := s.PutOnce(t.Context(), Entry{Scope: mine, Tool: "run", Full: "text"})
	if err != nil || !again || got.UUID != e.UUID || !got.Created.Equal(c.at.Truncate(time.Millisecond)) {
		t.Fatalf("%s of %s, again %t: %v", got.UUID, got.Created, again, err)
	}
	c.forward(23 * time.Hour)
	if r, err := s.Prune(t.Context(), false); err != nil || len(r.Pruned) != 0 {
		t.Errorf("pruned %+v: %v", r.Pruned, err)
	}
	if list, err := s.List(t.Context(), mine, Filter{}); err != nil || len(list) != 1 || !list[0].Created.Equal(got.Created) {
		t.Errorf("%+v: %v", list, err)
	}
}

func TestIdenticalToNothingThatExpired(t *testing.T) {
	c := newClock()
	s := openTest(t, func(cfg *Config) { cfg.Now = c.now })
	putEntry(t, s, Entry{Scope: mine, Tool: "t", Full: "x", Expires: c.at.Add(time.Minute)})
	c.forward(time.Hour)
	if e, again, err := s.PutOnce(t.Context(), Entry{Scope: mine, Tool: "t", Full: "x"}); err != nil || again {
		t.Errorf("identical to %s, which cannot be read any more: %v", e.UUID, err)
	}
}

// Every way to an entry is closed to everyone else, with the answer that a
// made-up id gets.
func TestStrangersSeeNothing(t *testing.T) {
	s := openTest(t)
	e := putEntry(t, s, Entry{Scope: mine, Tool: "run", Full: "the secret text", Raw: []byte("raw secret")})
	ctx := t.Context()
	for _, sc := range append(strangers, mine) {
		id := e.UUID
		if sc == mine {
			id = "01890000-0000-7000-8000-000000000000" // unknown
		}
		for name, call := range map[string]func() error{
			"Get":  func() error { _, err := s.Get(ctx, sc, id); return err },
			"Raw":  func() error { _, err := s.Raw(ctx, sc, id); return err },
			"Read": func() error { _, err := s.Read(ctx, sc, id, Part{}); return err },
			"Drop": func() error { return s.Drop(ctx, sc, id) },
		} {
			if err := call(); err != ErrNotFound {
				t.Errorf("%s as %v answers %v", name, sc, err)
			}
		}
		if sc == mine {
			continue
		}
		if list, err := s.List(ctx, sc, Filter{}); err != nil || len(list) != 0 {
			t.Errorf("List as %v: %d entries, error %v", sc, len(list), err)
		}
		if r, err := s.Search(ctx, sc, "secret", SearchOptions{}); err != nil || len(r.Hits) != 0 || r.Archives != 0 {
			t.Errorf("Search as %v: %+v, error %v", sc, r, err)
		}
		if err := s.Each(ctx, sc, true, func(Entry) error { return errors.New("found") }); err != nil {
			t.Errorf("Each as %v: %v", sc, err)
		}
		if size, err := deleteConversation(t, s, sc); err != nil || size != (Size{}) {
			t.Errorf("deleting %v: %+v, error %v", sc, size, err)
		}
	}
	if _, err := s.Find(ctx, "bob", e.UUID); err != ErrNotFound {
		t.Errorf("Find as bob: %v", err)
	}
	if got, err := s.Get(ctx, mine, e.UUID); err != nil || got.Loads != 0 {
		t.Errorf("afterwards: error %v, %d loads", err, got.Loads)
	}
}

func TestUserScope(t *testing.T) {
	s := openTest(t, func(cfg *Config) { cfg.UserScope = true })
	e := put(t, s, "shared between conversations")
	elsewhere := Scope{Principal: "ann", Conversation: "c2"}
	if got, err := s.Get(t.Context(), elsewhere, e.UUID); err != nil || got.Scope != mine {
		t.Errorf("Get: %v, of %v", err, got.Scope)
	}
	if list, err := s.List(t.Context(), elsewhere, Filter{}); err != nil || len(list) != 1 {
		t.Errorf("List: %d entries, error %v", len(list), err)
	}
	if r, err := s.Search(t.Context(), elsewhere, "between", SearchOptions{}); err != nil || len(r.Hits) != 1 {
		t.Errorf("Search: %d hits, error %v", len(r.Hits), err)
	}
	for conversation, want := range map[string]int{"c1": 1, "c2": 0} {
		alone := Scope{Principal: "ann", Conversation: conversation, Alone: true}
		list, err1 := s.List(t.Context(), alone, Filter{})
		r, err2 := s.Search(t.Context(), alone, "between", SearchOptions{})
		if err := errors.Join(err1, err2); err != nil || len(list) != want || len(r.Hits) != want || r.Archives != want {
			t.Errorf("%s alone: %d entries, %+v, error %v", conversation, len(list), r, err)
		}
	}
	for _, sc := range []Scope{{Principal: "bob", Conversation: "c1"}, {Principal: "bob", Conversation: "c2"}, {}} {
		if _, err := s.Get(t.Context(), sc, e.UUID); err != ErrNotFound {
			t.Errorf("%v: %v", sc, err)
		}
	}
}

// A Scope that is Everywhere reads all conversations and writes to its own.
func TestEverywhere(t *testing.T) {
	s := openTest(t)
	e := put(t, s, "shared between conversations")
	all := Scope{Principal: "ann", Conversation: "c2", Everywhere: true}
	if got, err := s.Get(t.Context(), all, e.UUID); err != nil || got.Scope != mine {
		t.Errorf("Get: %v, of %v", err, got.Scope)
	}
	if page, err := s.Read(t.Context(), all, e.UUID, Part{}); err != nil || page.Entry.Loads != 1 {
		t.Errorf("Read: %v, %d loads", err, page.Entry.Loads)
	}
	if r, err := s.Search(t.Context(), all, "between", SearchOptions{}); err != nil || len(r.Hits) != 1 {
		t.Errorf("Search: %d hits, error %v", len(r.Hits), err)
	}
	own := putEntry(t, s, Entry{Scope: all, Tool: "run", Full: "its own"})
	if _, err := s.Get(t.Context(), mine, own.UUID); err != ErrNotFound {
		t.Errorf("a scope without it reads another conversation: %v", err)
	}
	for _, sc := range []Scope{{Principal: "bob", Conversation: "c1", Everywhere: true}, {Everywhere: true}} {
		if _, err := s.Get(t.Context(), sc, e.UUID); err != ErrNotFound {
			t.Errorf("%v: %v", sc, err)
		}
	}
}

func TestFind(t *testing.T) {
	s := openTest(t)
	e := put(t, s, "text")
	got, err := s.Find(t.Context(), "ann", e.UUID)
	if err != nil || got.Scope != mine || got.Full != "" || got.Chars != 4 {
		t.Errorf("got %+v, error %v", got, err)
	}
}

func TestDrop(t *testing.T) {
	s := openTest(t)
	gone, stays := put(t, s, "goes"), put(t, s, "stays")
	if err := s.Drop(t.Context(), mine, gone.UUID); err != nil {
		t.Fatal(err)
	}
	if err := s.Drop(t.Context(), mine, gone.UUID); err != ErrNotFound {
		t.Errorf("dropping twice: %v", err)
	}
	if _, err := s.Get(t.Context(), mine, gone.UUID); err != ErrNotFound {
		t.Errorf("Get: %v", err)
	}
	if _, err := s.Get(t.Context(), mine, stays.UUID); err != nil {
		t.Errorf("the other: %v", err)
	}
}

// What has expired is gone for readers before anyone prunes it.
func TestExpires(t *testing.T) {
	c := newClock()
	s := openTest(t, func(cfg *Config) { cfg.Now = c.now })
	e := putEntry(t, s, Entry{Scope: mine, Tool: "weather", Input: json.RawMessage(`{"city":"上海"}`), Full: "rain", Expires: c.at.Add(time.Hour)})
	c.forward(time.Hour - time.Millisecond)
	if _, err := s.Get(t.Context(), mine, e.UUID); err != nil {
		t.Errorf("before: %v", err)
	}
	c.forward(time.Millisecond)
	got, err := s.Get(t.Context(), mine, e.UUID)
	if !errors.Is(err, ErrExpired) || got.Tool != "weather" || string(got.Input) != `{"city":"上海"}` || got.Full != "" {
		t.Errorf("after: %+v, error %v", got, err)
	}
	if _, err := s.Raw(t.Context(), mine, e.UUID); !errors.Is(err, ErrExpired) {
		t.Errorf("Raw: %v", err)
	}
	if page, err := s.Read(t.Context(), mine, e.UUID, Part{}); !errors.Is(err, ErrExpired) || page.Text != "" || page.Entry.Tool != "weather" {
		t.Errorf("Read: %+v, error %v", page, err)
	}
	if _, err := s.Find(t.Context(), "ann", e.UUID); !errors.Is(err, ErrExpired) {
		t.Errorf("Find: %v", err)
	}
	if r, err := s.Search(t.Context(), mine, "rain", SearchOptions{}); err != nil || len(r.Hits) != 0 {
		t.Errorf("Search finds %v, error %v", r.Hits, err)
	}
}

func TestList(t *testing.T) {
	c := newClock()
	s := openTest(t, func(cfg *Config) { cfg.Now = c.now })
	var ids []string
	for i := range 60 {
		name := []string{"grep_search", "read_file"}[i%2]
		e := putEntry(t, s, Entry{Scope: mine, Tool: name, Input: json.RawMessage(`{"pattern":"Err` + strings.Repeat("x", i) + `!"}`), Full: "text"})
		ids = append(ids, e.UUID)
		if i%3 == 0 { // some share a moment
			c.forward(time.Second)
		}
	}
	putEntry(t, s, Entry{Scope: Scope{Principal: "ann", Conversation: "c2"}, Tool: "grep_search", Full: "elsewhere"})
	for name, row := range map[string]struct {
		f     Filter
		count int
	}{
		"the default":                {Filter{}, DefaultListed},
		"all":                        {Filter{Limit: -1}, 60},
		"a page":                     {Filter{Limit: 10, Offset: 55}, 5},
		"behind the end":             {Filter{Offset: 100}, 0},
		"a bad offset":               {Filter{Limit: -1, Offset: -5}, 60},
		"one tool":                   {Filter{Tool: "read_file"}, 30},
		"no such tool":               {Filter{Tool: "read"}, 0},
		"a query":                    {Filter{Query: "ERRXX!"}, 1},
		"a query's % is no wildcard": {Filter{Query: "Err%"}, 0},
		"everywhere":                 {Filter{Limit: -1, Everywhere: true}, 61},
	} {
		list, err := s.List(t.Context(), mine, row.f)
		if err != nil || len(list) != row.count {
			t.Errorf("%s: %d entries, want %d; error %v", name, len(list), row.count, err)
		}
		for _, e := range list {
			if e.Full != "" || e.Chars == 0 {
				t.Errorf("%s: %+v", name, e)
			}
		}
	}
	list, err := s.List(t.Context(), mine, Filter{Limit: -1})
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range list {
		if e.UUID != ids[len(ids)-1-i] {
			t.Fatalf("entry %d is not the newest left", i)
		}
	}
}

// Identical results that are put at the same time are one entry.
func TestPutAtOnce(t *testing.T) {
	s := openTest(t)
	const n = 16
	got := make([]Entry, n)
	var repeated atomic.Int32
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			var err error
			var again bool
			if got[i], again, err = s.PutOnce(t.Context(), Entry{Scope: mine, Tool: "run", Full: strings.Repeat("the same ", 2000)}); err != nil {
				t.Error(err)
			}
			if again {
				repeated.Add(1)
			}
		})
	}
	wg.Wait()
	for _, e := range got {
		if back, err := s.Get(t.Context(), mine, e.UUID); err != nil || back.Full != strings.Repeat("the same ", 2000) || e.UUID != got[0].UUID {
			t.Errorf("%s: error %v", e.UUID, err)
		}
	}
	if repeated.Load() != n-1 {
		t.Errorf("%d are repetitions, want %d", repeated.Load(), n-1)
	}
}

// An input of long strings is made compact as any other is.
func FuzzCompactLong(f *testing.F) {
	for _, s := range []string{`{"a": "bcd", "e" :[ "fgh" , 1 ]}`, ` "abc" `, `{"a":"bcd""e":1}`, `{"a b":"c d\" e","f":"g h"} x`, `["a b`, "[\"a\tb\"]", `[ 1, 2 ]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var want bytes.Buffer
		err := json.Compact(&want, raw)
		got, ok := compactLong(raw, 2)
		if ok != (err == nil) || ok && !bytes.Equal(got, want.Bytes()) {
			t.Errorf("%q becomes %q (%v), want %q (%v)", raw, got, ok, want.Bytes(), err)
		}
	})
}
