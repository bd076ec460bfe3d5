package archive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The store does what a slice of entries does, whatever is done in whatever
// order, compressed or not, opened again or not.
func TestStoreIsASlice(t *testing.T) {
	quickly(t, 25)
	c := newClock()
	m := &model{t: t, clock: c, s: openTest(t, func(cfg *Config) { cfg.Now, cfg.MaxCountPerPrincipal, cfg.SummaryChars = c.now, 6, -1 })}
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++ // people of their own for every check; what others left must not matter
		m.entries, m.scopes = nil, nil
		for _, sc := range append([]Scope{mine}, strangers[:3]...) {
			m.scopes = append(m.scopes, Scope{Principal: fmt.Sprint(sc.Principal, n), Conversation: fmt.Sprint(sc.Conversation, n)})
		}
		rt.Repeat(map[string]func(*rapid.T){
			"put": m.put, "drop": m.drop, "read": m.read, "list": m.list, "prune": m.prune, "delete": m.deleteConversation,
			"compact": func(rt *rapid.T) {
				if err := m.s.Compact(t.Context()); err != nil {
					rt.Fatal(err)
				}
			},
			"reopen": func(rt *rapid.T) {
				if err := m.s.Close(); err != nil {
					rt.Fatal(err)
				}
				m.s = reopen(t, *m.s.cfg())
			},
			"": m.check,
		})
	})
}

// A model is what the store should hold, the oldest first.
type model struct {
	t       *testing.T
	s       *SQLite
	clock   *clock
	scopes  []Scope
	entries []Entry
}

func (m *model) put(rt *rapid.T) {
	e := Entry{Scope: rapid.SampledFrom(m.scopes).Draw(rt, "scope"), Tool: rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "tool"),
		Full: anyText().Draw(rt, "text") + rapid.SampledFrom([]string{"", awkward["a long line"][:5000]}).Draw(rt, "more")}
	if len(m.entries) > 0 && rapid.Bool().Draw(rt, "repeat") {
		e.Full = rapid.SampledFrom(m.entries).Draw(rt, "of").Full
	}
	if rapid.IntRange(0, 3).Draw(rt, "raw") == 0 {
		e.Raw = []byte("raw")
	}
	e.Later = rapid.Bool().Draw(rt, "later")
	want, put := e, m.s.PutOnce
	if rapid.Bool().Draw(rt, "always") {
		put = func(ctx context.Context, e Entry) (Entry, bool, error) {
			e, err := m.s.Put(ctx, e)
			return e, false, err
		}
	} else {
		for _, old := range m.entries {
			if old.Scope == e.Scope && old.Tool == e.Tool && old.Full == e.Full && string(old.Raw) == string(e.Raw) && !old.Pruned {
				want.UUID = old.UUID
			}
		}
	}
	e, again, err := put(m.t.Context(), e)
	if err != nil {
		rt.Fatal(err)
	}
	if again != (want.UUID != "") || again && e.UUID != want.UUID {
		rt.Fatalf("again %t, %s; want %q", again, e.UUID, want.UUID)
	}
	if !again {
		m.entries = append(m.entries, e)
	}
	m.clock.forward(time.Duration(rapid.IntRange(0, 2).Draw(rt, "ms")) * time.Millisecond)
}

// pick draws an entry, and a scope that may be its own.
func (m *model) pick(rt *rapid.T) (int, Scope) {
	if len(m.entries) == 0 {
		rt.Skip("nothing there")
	}
	i := rapid.IntRange(0, len(m.entries)-1).Draw(rt, "entry")
	return i, rapid.SampledFrom(append(slices.Clip(m.scopes), m.entries[i].Scope)).Draw(rt, "scope")
}

func (m *model) drop(rt *rapid.T) {
	i, sc := m.pick(rt)
	err := m.s.Drop(m.t.Context(), sc, m.entries[i].UUID)
	if own := sc == m.entries[i].Scope; own != (err == nil) || !own && err != ErrNotFound {
		rt.Fatalf("as %v: %v", sc, err)
	} else if own {
		m.entries = slices.Delete(m.entries, i, i+1)
	}
}

func (m *model) read(rt *rapid.T) {
	i, sc := m.pick(rt)
	e := &m.entries[i]
	page, err := m.s.Read(m.t.Context(), sc, e.UUID, Part{})
	switch {
	case sc != e.Scope:
		if err != ErrNotFound {
			rt.Fatalf("as %v: %v", sc, err)
		}
	case e.Pruned:
		if !errors.Is(err, ErrExpired) {
			rt.Fatal(err)
		}
	case err != nil || page.Text != e.Full:
		rt.Fatalf("%q, error %v", page.Text, err)
	default:
		e.Loads++
	}
}

func (m *model) list(rt *rapid.T) {
	sc := rapid.SampledFrom(m.scopes).Draw(rt, "scope")
	f := Filter{Tool: rapid.SampledFrom([]string{"", "a"}).Draw(rt, "tool"), Limit: rapid.IntRange(-1, 3).Draw(rt, "limit"), Offset: rapid.IntRange(0, 3).Draw(rt, "offset")}
	got, err := m.s.List(m.t.Context(), sc, f)
	if err != nil {
		rt.Fatal(err)
	}
	var want []string
	for _, e := range slices.Backward(m.entries) {
		if e.Scope == sc && (f.Tool == "" || f.Tool == e.Tool) {
			want = append(want, e.UUID)
		}
	}
	want = want[min(f.Offset, len(want)):]
	if f.Limit > 0 {
		want = want[:min(f.Limit, len(want))]
	}
	if !slices.EqualFunc(got, want, func(e Entry, id string) bool { return e.UUID == id }) {
		rt.Fatalf("lists %d, want %d", len(got), len(want))
	}
}

func (m *model) prune(rt *rapid.T) {
	if _, err := m.s.Prune(m.t.Context(), false); err != nil {
		rt.Fatal(err)
	}
	kept := map[string]int{}
	for i := range slices.Backward(m.entries) {
		e := &m.entries[i]
		if e.Pruned {
			continue
		}
		if kept[e.Scope.Principal]++; kept[e.Scope.Principal] > m.s.cfg().MaxCountPerPrincipal {
			e.Pruned = true
		}
	}
}

func (m *model) deleteConversation(rt *rapid.T) {
	sc := rapid.SampledFrom(m.scopes).Draw(rt, "scope")
	before := len(m.entries)
	m.entries = slices.DeleteFunc(m.entries, func(e Entry) bool { return e.Scope == sc })
	if size, err := deleteConversation(m.t, m.s, sc); err != nil || size.Results != before-len(m.entries) {
		rt.Fatal(size, err)
	}
}

// check compares everything.
func (m *model) check(rt *rapid.T) {
	m.checkTexts(rt)
	for _, want := range m.entries {
		for _, sc := range m.scopes {
			got, err := m.s.Get(m.t.Context(), sc, want.UUID)
			switch {
			case sc != want.Scope:
				if err != ErrNotFound {
					rt.Fatalf("%s of %v as %v: %v", want.UUID, want.Scope, sc, err)
				}
			case want.Pruned:
				if !errors.Is(err, ErrExpired) || got.Full != "" {
					rt.Fatalf("pruned: %+v, error %v", got, err)
				}
			case err != nil || got.Full != want.Full || got.Loads != want.Loads || got.SHA256 != want.SHA256:
				rt.Fatalf("%+v, error %v; want %+v", got, err, want)
			}
		}
	}
}

// checkTexts holds the texts on the disk to what the entries refer to: each once for
// every principal, and none without an entry.
func (m *model) checkTexts(rt *rapid.T) {
	for _, sc := range m.scopes {
		want := map[string]int{}
		for _, e := range m.entries {
			if e.Scope.Principal == sc.Principal && !e.Pruned {
				want[e.Full+"\x00"+string(e.Raw)] = len(e.Full) + len(e.Raw)
			}
		}
		var n, packed, bytes, plain int
		if err := m.s.db.QueryRowContext(m.t.Context(), "SELECT count(*), coalesce(sum(encoding), 0), coalesce(sum(stored_bytes), 0) FROM result_texts WHERE owner = ?", sc.Principal).Scan(&n, &packed, &bytes); err != nil || n != len(want) {
			rt.Fatalf("%s has %d texts, want %d: %v", sc.Principal, n, len(want), err)
		}
		if got, _, err := m.s.Usage(m.t.Context(), sc.Principal); err != nil || got != int64(bytes) {
			rt.Fatalf("%s uses %d bytes, want %d: %v", sc.Principal, got, bytes, err)
		}
		for _, size := range want {
			plain += size
		}
		if packed == 0 && bytes != plain {
			rt.Fatalf("%s uses %d bytes, want %d", sc.Principal, bytes, plain)
		}
	}
}
