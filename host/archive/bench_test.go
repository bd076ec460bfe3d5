package archive

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/weirhost/weir/host/internal/describe"
	"github.com/weirhost/weir/sdk/tool"
)

// The figures that the archive is held to: a put of 50 KB costs at most twice
// the raw statement, a get of a text as it came at most one and a half times,
// and neither get nor list slows down by more than 1.3 times from 1,000 archives
// to 100,000. A compressed text costs about twice the raw statement that
// reads the same text; only archives that need the room have any.
//
//	go test -run '^$' -bench 'Put|Get' -benchtime 2000x ./host/archive
//	go test -run '^$' -bench Many -benchtime 20000x ./host/archive

// benchText is 50 KB of log lines, different for every seed.
func benchText(seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 1))
	var b strings.Builder
	for b.Len() < 50_000 {
		fmt.Fprintf(&b, "2026-01-02T03:04:%02d.%03d %s worker-%d request %x took %d ms\n", r.IntN(60), r.IntN(1000),
			[]string{"INFO", "INFO", "INFO", "WARN", "ERROR"}[r.IntN(5)], r.IntN(16), r.Uint64(), r.IntN(5000))
	}
	return b.String()[:50_000]
}

// proseText is 50 KB of sentences.
func proseText(seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 2))
	words := strings.Fields("the archive keeps every whole result so that a model may read it again when a later question refers back to it 权限 管理 配置 步骤 details timeout connection retry policy")
	var b strings.Builder
	for b.Len() < 50_000 {
		for range 6 + r.IntN(12) {
			b.WriteString(words[r.IntN(len(words))] + " ")
		}
		b.WriteString("end.\n")
	}
	return b.String()
}

var rawText = benchText(1)

// unlike returns a different text for every i.
func unlike(text string, i int) string { return fmt.Sprintf("%08d", i) + text[8:] }

// rawStore is the least that keeps a text as durably: one table, one statement.
func rawStore(b *testing.B) *sql.DB {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(b.TempDir(), "raw.db")+"?_txlock=immediate&_auto_vacuum=INCREMENTAL&_pragma=journal_mode(WAL)"+
		"&_pragma=synchronous(FULL)&_pragma=secure_delete(ON)&_pragma=journal_size_limit(67108864)&_pragma=temp_store(MEMORY)&_pragma=cache_size(-8000)")
	if err != nil {
		b.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	b.Cleanup(func() { db.Close() })
	if _, err := db.Exec("CREATE TABLE raw (uuid TEXT NOT NULL PRIMARY KEY, principal TEXT, conversation_id TEXT, result_full TEXT)"); err != nil {
		b.Fatal(err)
	}
	return db
}

func benchStore(b *testing.B) *SQLite {
	s, err := Open(b.Context(), Config{Path: filepath.Join(b.TempDir(), "archive.db")})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s
}

// A contender is one of the things that a race compares.
type contender struct {
	name string
	run  func(i int) error
}

// race runs the contenders in turn, because other work of the machine then affects all
// of them, and reports the median of each and its ratio to that of the first.
func race(b *testing.B, list ...contender) {
	b.Helper()
	times := make([][]time.Duration, len(list))
	for i := 0; b.Loop(); i++ {
		for k := range list {
			k = (k + i) % len(list) // each contender runs after each other one
			start := time.Now()
			if err := list[k].run(i); err != nil {
				b.Fatal(list[k].name, err)
			}
			times[k] = append(times[k], time.Since(start))
		}
	}
	var first float64
	for k, c := range list {
		slices.Sort(times[k])
		median := float64(times[k][len(times[k])/2].Nanoseconds()) / 1e3
		b.ReportMetric(median, c.name+"-µs")
		if k == 0 {
			first = median
			continue
		}
		b.ReportMetric(median/first, c.name+"-ratio")
	}
	b.ReportMetric(0, "ns/op") // of all together, it says nothing
}

func BenchmarkPut50KB(b *testing.B) {
	raw, err := rawStore(b).Prepare("INSERT INTO raw VALUES (?, ?, ?, ?)")
	if err != nil {
		b.Fatal(err)
	}
	list := []contender{{"raw", func(i int) error {
		id, err := uuid.NewV7()
		if err != nil {
			return err
		}
		_, err = raw.ExecContext(b.Context(), id.String(), "p", "c", unlike(rawText, i))
		return err
	}}}
	for _, c := range []struct {
		name string
		text string
		told bool // the caller brings summary and sources
	}{{"told", benchText(1), true}, {"log", benchText(1), false}, {"prose", proseText(1), false}} {
		s := benchStore(b)
		list = append(list, contender{c.name, func(i int) error {
			e := Entry{Scope: Scope{Principal: "p", Conversation: "c"}, Tool: "run", Input: fmt.Appendf(nil, `{"n":%d}`, i), Full: unlike(c.text, i)}
			if c.told {
				e.Summary, e.Sources = "a summary", []tool.Source{}
			}
			_, err := s.Put(b.Context(), e)
			return err
		}})
	}
	race(b, list...)
}

func BenchmarkGet50KB(b *testing.B) {
	const rows = 200
	db := rawStore(b)
	ids := make([]string, rows)
	for i := range ids {
		ids[i] = fmt.Sprintf("id-%d", i)
		if _, err := db.Exec("INSERT INTO raw VALUES (?, 'p', 'c', ?)", ids[i], benchText(uint64(i))); err != nil {
			b.Fatal(err)
		}
	}
	raw, err := db.Prepare("SELECT result_full FROM raw WHERE uuid = ? AND principal = ? AND conversation_id = ?")
	if err != nil {
		b.Fatal(err)
	}
	list := []contender{{"raw", func(i int) error {
		var text string
		return raw.QueryRowContext(b.Context(), ids[i%rows], "p", "c").Scan(&text)
	}}}
	for _, name := range []string{"fresh", "compressed"} {
		s := benchStore(b)
		ids := make([]string, rows)
		for i := range ids {
			e, err := s.Put(b.Context(), Entry{Scope: Scope{Principal: "p", Conversation: "c"}, Tool: "run", Full: benchText(uint64(i))})
			if err != nil {
				b.Fatal(err)
			}
			ids[i] = e.UUID
		}
		if name == "compressed" {
			if err := s.Compact(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
		list = append(list, contender{name, func(i int) error {
			_, err := s.Get(b.Context(), Scope{Principal: "p", Conversation: "c"}, ids[i%rows])
			return err
		}})
		if name == "compressed" { // what reading alone costs
			stmt, err := s.db.PrepareRead(b.Context(), "SELECT result_full"+withTexts+"WHERE uuid = ? AND principal = ? AND conversation_id = ?")
			if err != nil {
				b.Fatal(err)
			}
			list = append(list, contender{"raw-compressed", func(i int) error {
				var text string
				return stmt.QueryRowContext(b.Context(), ids[i%rows], "p", "c").Scan(&text)
			}})
		}
	}
	race(b, list...)
}

// BenchmarkMany has conversations of 100 archives; a get takes any archive, a
// list the newest of any conversation. Both stores are asked for equally many
// different rows, so that what is compared is the way to a row and not how much
// of a file lies in memory.
func BenchmarkMany(b *testing.B) {
	var get, list []contender
	for _, n := range []int{1_000, 100_000} {
		s := benchStore(b)
		ids := fillStore(b, s, n)
		r := rand.New(rand.NewPCG(1, 1))
		pick := make([]int, 500)
		for i := range pick {
			pick[i] = r.IntN(n)
		}
		scope := func(i int) Scope { return Scope{Principal: "p", Conversation: fmt.Sprint("c", pick[i%len(pick)]/100)} }
		get = append(get, contender{fmt.Sprint(n), func(i int) error {
			_, err := s.Get(b.Context(), scope(i), ids[pick[i%len(pick)]])
			return err
		}})
		list = append(list, contender{fmt.Sprint(n), func(i int) error {
			_, err := s.List(b.Context(), scope(i), Filter{})
			return err
		}})
	}
	b.Run("get", func(b *testing.B) { race(b, get...) })
	b.Run("list", func(b *testing.B) { race(b, list...) })
}

// fillStore inserts n archives of 1,500 characters in few transactions.
func fillStore(b *testing.B, s *SQLite, n int) []string {
	ids := make([]string, n)
	full := benchText(1)[:1500]
	at := time.Now()
	for i := 0; i < n; {
		err := s.db.Transact(b.Context(), func(tx *sql.Tx) error {
			stmt, err := tx.PrepareContext(b.Context(), insertSQL)
			if err != nil {
				return err
			}
			text, err := tx.PrepareContext(b.Context(), insertTextSQL)
			if err != nil {
				return err
			}
			for end := min(n, i+5000); i < end; i++ {
				id, err := uuid.NewV7()
				if err != nil {
					return err
				}
				ids[i] = id.String()
				if _, err := text.Exec("p", fmt.Appendf(nil, "%032x", i), at.UnixMilli()+int64(i), 1500, encodingPlain, full, nil, nil); err != nil {
					return err
				}
				_, err = stmt.Exec(ids[i], "p", fmt.Sprint("c", i/100), "", 1, "call", "run", at.UnixMilli()+int64(i), nil, fmt.Sprintf("%064x", i),
					1500, 20, 1500, 1, i+1, "query", "{}", "a summary of the text", "[]")
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	return ids
}

// BenchmarkDescribe measures the description that Put adds to a text. The hostile texts
// are made to be slow; they must not be much slower.
func BenchmarkDescribe(b *testing.B) {
	for name, text := range map[string]string{
		"log": benchText(1), "prose": proseText(1),
		"hostile/parentheses": "http://" + strings.Repeat(")", 1<<20),
		"hostile/links":       strings.Repeat("[http://a.b](http", 1<<16),
		"hostile/brackets":    strings.Repeat("[", 1<<19) + strings.Repeat("]", 1<<19),
		"hostile/objects":     strings.Repeat(`{"a":`, 1<<17) + "1" + strings.Repeat("}", 1<<17),
		"hostile/dashes":      strings.Repeat("a.b-1", 1<<18),
		"hostile/lines":       strings.Repeat("\n", 1<<20),
		"hostile/levels":      strings.Repeat("error ", 1<<17),
		"hostile/commas":      strings.Repeat(",,,\n", 1<<18),
		"hostile/marks":       "a" + strings.Repeat("\u0301", 1<<19),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				describe.Summarize(text, 200)
				describe.Sources(text)
			}
		})
	}
}

func BenchmarkSearch(b *testing.B) {
	s := benchStore(b)
	for i := range 200 {
		if _, err := s.Put(b.Context(), Entry{Scope: Scope{Principal: "p", Conversation: "c"}, Tool: "run", Full: benchText(uint64(i))}); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(200 * 50_000)
	for b.Loop() {
		if r, err := s.Search(b.Context(), Scope{Principal: "p", Conversation: "c"}, "no such 配置", SearchOptions{}); err != nil || r.Archives != 200 {
			b.Fatal(r, err)
		}
	}
}
