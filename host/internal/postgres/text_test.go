package postgres

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// Every text comes back as it was, and is one that PostgreSQL can hold.
func TestEscape(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"\x00", mark, "\xff", "\xef\xb7", "\ufffd", mark + "00"}))).Draw(t, "parts"), "")
		got := escape(text)
		if !utf8.ValidString(got) || strings.Contains(got, "\x00") {
			t.Fatalf("%q", got)
		}
		if back := unescape(got); back != text {
			t.Fatalf("%q came back as %q", text, back)
		}
	})
}

func TestNumbered(t *testing.T) {
	for query, want := range map[string]string{
		"SELECT 1":                        "SELECT 1",
		"a = ? AND b = ?":                 "a = $1 AND b = $2",
		"VALUES (?1, ?2, ?), (?1, ?2, ?)": "VALUES ($1, $2, $3), ($1, $2, $4)",
		`a = '?''?' AND "?" = ?`:          `a = '?''?' AND "?" = $1`,
		`a LIKE ? ESCAPE '\' OR b = ?`:    `a LIKE $1 ESCAPE '\' OR b = $2`,
		"a = ?12":                         "a = $12",
		"open '?":                         "open '?",
	} {
		if got := numbered(query); got != want {
			t.Errorf("%s became %s, want %s", query, got, want)
		}
	}
}
