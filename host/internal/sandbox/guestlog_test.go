package sandbox

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weirhost/weir/host/internal/guesttest"
	"pgregory.net/rapid"
)

func newStream(b *guesttest.LogBook) *stream {
	return &stream{journal: &journal{log: b.Logger()}, source: "stdout", check: func() {}}
}

// The same text written in different pieces gives the same lines.
func TestLinesDoNotDependOnChunks(t *testing.T) {
	piece := rapid.SampledFrom([]string{"a", "\n", "\n\n", "水", "\x1b[31m", "\xff", strings.Repeat("x", 1500), "\r\n", "\x00"})
	rapid.Check(t, func(rt *rapid.T) {
		pieces := rapid.SliceOfN(piece, 0, 20).Draw(rt, "pieces")
		var whole, parts guesttest.LogBook
		one, many := newStream(&whole), newStream(&parts)
		one.Write([]byte(strings.Join(pieces, "")))
		for _, p := range pieces {
			if n, err := many.Write([]byte(p)); n != len(p) || err != nil {
				rt.Fatalf("Write: %d, %v", n, err)
			}
		}
		one.end()
		many.end()
		if whole.String() != parts.String() || one.first() != many.first() {
			rt.Fatalf("%q and %q", whole.String(), parts.String())
		}
		if !utf8.ValidString(whole.String()) || strings.ContainsAny(whole.String(), "\x1b\x00") {
			rt.Fatalf("not safe to show: %q", whole.String())
		}
	})
}

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"plain 中文 text":           "plain 中文 text",
		"a\x1b[1;31mred\x1b[0m b": "ared b",
		"bell\a, nul\x00":         "bell, nul",
		"two\nlines\tand a tab":   "two lines and a tab",
		"\u202edesrever\u200b":    "desrever", // bidi override, zero width
		"cut\xe4\xb8":             "cut",
		"":                        "",
	} {
		if got := printable(in, 100); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	if got := printable("水水水", 4); got != "水" {
		t.Errorf("a cut inside a character: %q", got)
	}
	if got := clip("水的流动", 3); got != "水的…" {
		t.Errorf("clip: %q", got)
	}
}

func TestMeter(t *testing.T) {
	m := newMeter(1 << 20)
	kernel, guest := m.Allocate(0, 1<<32), m.Allocate(0, 1<<32)
	for _, row := range []struct {
		what string
		got  int
		want int
	}{
		{"the kernel has its own cap", len(kernel.Reallocate(2 << 20)), 2 << 20},
		{"the guest up to its cap", len(guest.Reallocate(1 << 20)), 1 << 20},
	} {
		if row.got != row.want {
			t.Errorf("%s: %d", row.what, row.got)
		}
	}
	if m.ranOut() || m.guest() != 1<<20 {
		t.Errorf("before: %t, %d", m.ranOut(), m.guest())
	}
	if guest.Reallocate(1<<20+1) != nil || !m.ranOut() {
		t.Error("the cap was passed, or nobody noticed")
	}
	if m.guest() != 1<<20 {
		t.Errorf("a refused growth counts: %d", m.guest())
	}
	b := m.Allocate(0, 1<<32).Reallocate(3)
	copy(b, "abc")
	if len(m.made) != 3 || m.made[2].(*linear).cap != 1<<20 {
		t.Error("a second memory of the guest has another cap")
	}
	if grown := m.made[2].Reallocate(10); string(grown) != "abc\x00\x00\x00\x00\x00\x00\x00" {
		t.Errorf("growing lost something: %q", grown)
	}
}
