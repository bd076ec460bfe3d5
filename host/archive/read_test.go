package archive

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/weirhost/weir/host/internal/postgres/pgtest"
	"github.com/weirhost/weir/host/internal/snippet"
	"github.com/weirhost/weir/sdk/tool"
)

const fiveLines = "one\ntwo\nthree\nfour\nfive\n"

const pointed = ` {"a":{"b/c":[10,{"d":"x\ny"}],"m~n":null},"":1,"big":12345678901234567890,"dup":1,"dup":2,"空":[]} `

func TestCutPart(t *testing.T) {
	for name, row := range map[string]struct {
		text string
		part Part
		want string
	}{
		"the whole":               {fiveLines, Part{}, fiveLines},
		"lines":                   {fiveLines, Part{First: 2, Last: 3}, "two\nthree\n"}, // with their ends, so that pages join
		"one line":                {fiveLines, Part{First: 5, Last: 5}, "five\n"},
		"to the end":              {fiveLines, Part{First: 4}, "four\nfive\n"},
		"up to":                   {fiveLines, Part{Last: 1}, "one\n"},
		"a last line too far":     {fiveLines, Part{First: 5, Last: 99}, "five\n"},
		"an unended last line":    {"a\nb", Part{First: 2}, "b"},
		"empty lines":             {"\n\n\n", Part{First: 2, Last: 2}, "\n"},
		"head":                    {fiveLines, Part{Head: 2}, "one\ntwo\n"},
		"tail":                    {fiveLines, Part{Tail: 2}, "four\nfive\n"},
		"tail of an unended":      {"a\nb", Part{Tail: 1}, "b"},
		"head and tail":           {fiveLines, Part{Head: 1, Tail: 1}, "one\n--\nfive\n"},
		"head and tail that meet": {fiveLines, Part{Head: 3, Tail: 2}, fiveLines},
		"head over everything":    {fiveLines, Part{Head: 99}, fiveLines},
		"huge numbers":            {fiveLines, Part{Head: 1 << 62, Tail: 1 << 62}, fiveLines},
		"head of lines":           {fiveLines, Part{First: 2, Head: 1}, "two\n"},
		"offset":                  {"权限管理", Part{Offset: 2}, "管理"},
		"offset at the end":       {"权限", Part{Offset: 2}, ""},
		"offset of lines":         {fiveLines, Part{First: 2, Last: 2, Offset: 1}, "wo\n"},
		"grep":                    {fiveLines, Part{Grep: "t"}, "2:two\n3:three\n"},
		"grep in groups":          {fiveLines, Part{Grep: "^(one|four)$"}, "1:one\n--\n4:four\n"},
		"grep with context":       {fiveLines, Part{Grep: "three", Context: 1}, "2-two\n3:three\n4-four\n"},
		"context that overlaps":   {fiveLines, Part{Grep: "o", Context: 1}, "1:one\n2:two\n3-three\n4:four\n5-five\n"},
		"context over the ends":   {fiveLines, Part{Grep: "one", Context: 1 << 62}, "1:one\n2-two\n3-three\n4-four\n5-five\n"},
		"context that just meets": {"a\nx\nx\nb\n", Part{Grep: "a|b", Context: 1}, "1:a\n2-x\n3-x\n4:b\n"},
		"grep nothing":            {fiveLines, Part{Grep: "six"}, ""},
		"grep everything":         {"a\n\nb", Part{Grep: ""}, "a\n\nb"}, // no grep at all
		"grep empty lines":        {"a\n\nb", Part{Grep: "^$"}, "2:\n"},
		"grep ignoring case":      {fiveLines, Part{Grep: "(?i)THREE"}, "3:three\n"},
		"grep, then head":         {fiveLines, Part{Grep: "t|f", Head: 1}, "2:two\n"},
		"a pointer":               {pointed, Part{Pointer: "/a/b~1c/0"}, "10"},
		"a pointer at a string":   {pointed, Part{Pointer: "/a/b~1c/1/d"}, "x\ny"},
		"a pointer at an object":  {pointed, Part{Pointer: "/a/b~1c/1"}, `{"d":"x\ny"}`},
		"a pointer at null":       {pointed, Part{Pointer: "/a/m~0n"}, "null"},
		"a pointer at no name":    {pointed, Part{Pointer: "/"}, "1"},
		"a pointer keeps digits":  {pointed, Part{Pointer: "/big"}, "12345678901234567890"},
		"a pointer at twins":      {pointed, Part{Pointer: "/dup"}, "2"},
		"a pointer in Chinese":    {pointed, Part{Pointer: "/空"}, "[]"},
		"a pointer's lines":       {pointed, Part{Pointer: "/a/b~1c/1/d", Head: 1}, "x\n"},
	} {
		page, err := selectPart(row.text, row.part)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if page.Text != row.want || page.Chars != utf8.RuneCountInString(row.want)+row.part.Offset {
			t.Errorf("%s: %q with %d characters, want %q", name, page.Text, page.Chars, row.want)
		}
	}
}

func TestCutPartRefuses(t *testing.T) {
	for name, row := range map[string]struct {
		text string
		part Part
		hint string // what helps
	}{
		"a line too far":           {fiveLines, Part{First: 6}, "up to 5"},
		"a line of nothing":        {"", Part{First: 1}, "up to 0"},
		"lines backwards":          {fiveLines, Part{First: 3, Last: 2}, "lines"},
		"negative":                 {fiveLines, Part{Head: -1}, "head"},
		"two ways":                 {fiveLines, Part{First: 1, Grep: "x"}, "instead"},
		"context alone":            {fiveLines, Part{Context: 1}, "grep"},
		"an offset too far":        {"ab", Part{Offset: 3}, "smaller"},
		"an open bracket":          {fiveLines, Part{Grep: "f("}, "RE2"},
		"a look ahead":             {fiveLines, Part{Grep: "(?=x)"}, "RE2"},
		"a pointer into a log":     {fiveLines, Part{Pointer: "/a"}, "grep"},
		"a pointer into half JSON": {`{"a":1`, Part{Pointer: "/a"}, "grep"},
		"a pointer without slash":  {pointed, Part{Pointer: "a"}, "pointer"},
		"a key that is not there":  {pointed, Part{Pointer: "/A"}, "a, , big, dup, dup, 空"},
		"an item too far":          {pointed, Part{Pointer: "/a/b~1c/2"}, "0 to 1"},
		"an item written oddly":    {pointed, Part{Pointer: "/a/b~1c/01"}, "0 to 1"},
		"the item behind the last": {pointed, Part{Pointer: "/a/b~1c/-"}, "0 to 1"},
		"an item of nothing":       {pointed, Part{Pointer: "/空/0"}, "array itself"},
		"below a number":           {pointed, Part{Pointer: "/big/x"}, `"/big"`},
		"JSON too deep to read":    {strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000), Part{Pointer: "/0"}, "grep"},
	} {
		_, err := selectPart(row.text, row.part)
		if err == nil {
			t.Errorf("%s: taken", name)
			continue
		}
		wantBadArgs(t, err)
		if !strings.Contains(err.Hint, row.hint) {
			t.Errorf("%s: the hint of %q does not say %q", name, err, row.hint)
		}
	}
}

func TestGrepCounts(t *testing.T) {
	page, err := selectPart(fiveLines, Part{Grep: "o", Context: 3})
	if err != nil || page.Matches != 3 {
		t.Errorf("%d matches, error %v", page.Matches, err)
	}
}

// anyText draws texts of few lines and many kinds of characters.
func anyText() *rapid.Generator[string] {
	piece := rapid.SampledFrom([]string{"a", "word ", "\n", "\n\n", "权限", "👨‍👩‍👧", "e\u0301", "\x00", "\t", "\r\n", "ש", "\xff", "{", `"`})
	return rapid.Custom(func(t *rapid.T) string {
		n := rapid.IntRange(0, 40).Draw(t, "n") // a slice's own length is mostly small
		return strings.Join(rapid.SliceOfN(piece, n, n).Draw(t, "pieces"), "")
	})
}

// Pages that follow one another give the whole back.
func TestPagesJoin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := anyText().Draw(t, "whole")
		step := rapid.IntRange(1, 7).Draw(t, "step")
		var joined strings.Builder
		for first := 1; first <= countLines(whole); first += step {
			page, err := selectPart(whole, Part{First: first, Last: first + step - 1})
			if err != nil {
				t.Fatal(err)
			}
			joined.WriteString(page.Text)
		}
		if joined.String() != whole {
			t.Fatalf("lines join to %q", joined.String())
		}
		joined.Reset()
		for offset := 0; ; offset += step {
			page, err := selectPart(whole, Part{Offset: offset})
			if err != nil {
				break
			}
			joined.WriteString(firstChars(page.Text, step))
		}
		if joined.String() != whole {
			t.Fatalf("offsets join to %q", joined.String())
		}
	})
}

func firstChars(s string, n int) string { return s[:len(s)-len(snippet.SkipChars(s, n))] }

// grep agrees with a plain reading of what it promises.
func TestGrepAgreesWithAPlainOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := anyText().Draw(t, "whole")
		context := rapid.IntRange(0, 4).Draw(t, "context")
		expr := rapid.SampledFrom([]string{"a", "^$", "权", "word", "[^a]", "\\x00"}).Draw(t, "expr")
		re := regexp.MustCompile(expr)
		lines := splitLines(whole)
		var want strings.Builder
		matches, before := 0, -1
		for i, line := range lines {
			hit, near := re.MatchString(line), false
			for k := max(0, i-context); k <= min(len(lines)-1, i+context); k++ {
				near = near || re.MatchString(lines[k])
			}
			if hit {
				matches++
			}
			if !near {
				continue
			}
			if before >= 0 && before != i-1 {
				want.WriteString("--\n")
			}
			fmt.Fprintf(&want, "%d%s%s\n", i+1, map[bool]string{true: ":", false: "-"}[hit], line)
			before = i
		}
		page, err := selectPart(whole, Part{Grep: expr, Context: context})
		if err != nil || page.Text != want.String() || page.Matches != matches {
			t.Fatalf("got %q with %d matches, error %v\nwant %q with %d", page.Text, page.Matches, err, want.String(), matches)
		}
	})
}

// FuzzCutPart: no part makes it panic, and what it selects is counted right.
func FuzzCutPart(f *testing.F) {
	f.Add(fiveLines, 1, 2, "", 0, "", 0, 0, 0)
	f.Add(fiveLines, 0, 0, "t.*", 1, "", 1, 1, 2)
	f.Add(pointed, 0, 0, "", 0, "/a/b~1c/1", 0, 0, 0)
	f.Add("权限\xff\n", -1, 0, "(", -5, "x", 1<<62, -1, 3)
	f.Fuzz(func(t *testing.T, text string, first, last int, grep string, context int, pointer string, head, tail, offset int) {
		p := Part{First: first, Last: last, Grep: grep, Context: context, Pointer: pointer, Head: head, Tail: tail, Offset: offset}
		page, err := selectPart(text, p)
		if err != nil {
			wantBadArgs(t, err)
			return
		}
		if n := utf8.RuneCountInString(page.Text); n+offset != page.Chars {
			t.Errorf("%d characters from offset %d on, of %d", n, offset, page.Chars)
		}
		if grep == "" && pointer == "" && !(head > 0 && tail > 0) && !strings.Contains(text, page.Text) {
			t.Errorf("%q does not stand in the text", page.Text)
		}
	})
}

func TestReadCountsLoads(t *testing.T) {
	c := newClock()
	s := openTest(t, func(cfg *Config) { cfg.Now = c.now })
	e := put(t, s, fiveLines)
	for i := 1; i <= 3; i++ {
		c.forward(time.Minute)
		page, err := s.Read(t.Context(), mine, e.UUID, Part{First: i, Last: i})
		if err != nil || page.Text != strings.SplitAfter(fiveLines, "\n")[i-1] {
			t.Fatalf("load %d: %q, error %v", i, page.Text, err)
		}
		if page.Entry.Loads != i || !page.Entry.LastLoad.Equal(c.at) || page.Entry.Full != "" || page.Entry.Tool != "run" {
			t.Errorf("load %d: entry %+v", i, page.Entry)
		}
	}
	if _, err := s.Read(t.Context(), mine, e.UUID, Part{First: 99}); err == nil {
		t.Error("line 99 was read")
	} else {
		wantBadArgs(t, err)
	}
	if _, err := s.Get(t.Context(), mine, e.UUID); err != nil {
		t.Fatal(err)
	}
	got, err := s.Get(t.Context(), mine, e.UUID)
	if err != nil || got.Loads != 3 || !got.LastLoad.Equal(c.at) {
		t.Errorf("afterwards %d loads, the last at %v, error %v; want 3, neither the bad one nor Get counted", got.Loads, got.LastLoad, err)
	}
}

// Counting a load must not write the text again: a model that pages through
// eight megabytes would write gigabytes.
func TestLoadsDoNotRewriteTheText(t *testing.T) {
	pgtest.SQLite(t)
	s := openTest(t)
	e := put(t, s, strings.Repeat("0123456789abcde\n", 4<<20/16))
	page := func() {
		if _, err := s.Read(t.Context(), mine, e.UUID, Part{Head: 1}); err != nil {
			t.Fatal(err)
		}
	}
	page()
	page() // the first loads may: the row grows by the new numbers
	if err := s.db.TruncateLog(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		page()
	}
	info, err := os.Stat(s.cfg().Path + "-wal")
	if err != nil || info.Size() > 1<<20 {
		t.Errorf("20 loads wrote %s bytes, error %v", strconv.FormatInt(info.Size(), 10), err)
	}
}

// TestAGrepThatCostsTooMuch: the expression of a model may not compute for minutes.
func TestAGrepThatCostsTooMuch(t *testing.T) {
	s := openTest(t)
	e := put(t, s, strings.Repeat("a", 4<<20))
	_, err := s.Peek(t.Context(), e.Scope, e.UUID, Part{Grep: "(?:a?){330}a{330}b"})
	if fail, ok := errors.AsType[*tool.Error](err); !ok || fail.Code != tool.BadArgs || !strings.Contains(fail.Msg, "too large for a text of 4194304 bytes") {
		t.Errorf("%v", err)
	}
	if page, err := s.Peek(t.Context(), e.Scope, e.UUID, Part{Grep: "b|a+"}); err != nil || page.Matches != 1 {
		t.Errorf("%d, %v", page.Matches, err)
	}
}
