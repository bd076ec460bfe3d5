package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"github.com/weirhost/weir/sdk/guest"
	"github.com/weirhost/weir/sdk/guest/files"
	"github.com/weirhost/weir/sdk/tool"
)

var workspace = guest.Options{FS: map[string]fs.FS{files.Workspace: fstest.MapFS{
	"old.txt": {Data: []byte("one\ntwo\nthree\nfour\nfive\n")},
	"new.txt": {Data: []byte("one\n2\nthree\nfour\nfive\nsix\n")},
	"dos.txt": {Data: []byte("one\r\ntwo\r\n")},
	"bytes":   {Data: []byte{0, 1, 2, 3}},
	"huge":    {Data: make([]byte, maxInput+1)},
}}}

func TestCompare(t *testing.T) {
	for _, tt := range []struct{ in, want, why string }{
		{`{"old_path":"old.txt","new_path":"new.txt","context":0}`, "2 places, 2 lines added, 1 removed\n--- old.txt\n+++ new.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n@@ -5 +5,2 @@\n five\n+six\n", "two files; one line around each difference at the least"},
		{`{"old_path":"old.txt","new_path":"new.txt"}`, "1 places, 2 lines added, 1 removed\n--- old.txt\n+++ new.txt\n@@ -1,5 +1,6 @@\n one\n-two\n+2\n three\n four\n five\n+six\n", "lines around"},
		{`{"old_text":"a\nb\n","new_text":"a\nc\n"}`, "1 places, 1 lines added, 1 removed\n--- old\n+++ new\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n", "two texts"},
		{`{"old_text":"","new_text":"a\n"}`, "1 places, 1 lines added, 0 removed\n--- old\n+++ new\n@@ -0,0 +1 @@\n+a\n", "from nothing"},
		{`{"old_text":"x","new_text":"x"}`, "No difference.\n", "equal texts"},
		{`{"old_path":"old.txt","new_text":"one\ntwo\nthree\nfour\nfive\n"}`, "No difference.\n", "a file and a text"},
	} {
		t.Run(tt.why, func(t *testing.T) {
			out, err := guest.Invoke(compare, tt.in, workspace)
			if err != nil || out.Text != tt.want {
				t.Errorf("%s: %q, %v; want %q", tt.in, out.Text, err, tt.want)
			}
		})
	}
	out, err := guest.Invoke(compare, `{"old_text":"one\ntwo\n","new_path":"dos.txt"}`, workspace)
	if err != nil || !strings.Contains(out.Text, "ends its lines with CR LF") {
		t.Errorf("%q, %v", out.Text, err)
	}
}

func TestRefusals(t *testing.T) {
	for _, tt := range []struct {
		in   string
		code tool.Code
	}{
		{`{}`, tool.BadArgs}, {`{"old_path":"old.txt"}`, tool.BadArgs},
		{`{"old_path":"old.txt","old_text":"","new_text":""}`, tool.BadArgs},
		{`{"old_path":"none","new_text":""}`, tool.BadArgs}, {`{"old_path":"../x","new_text":""}`, tool.Denied},
		{`{"old_path":"bytes","new_text":""}`, tool.BadArgs}, {`{"old_path":"huge","new_text":""}`, tool.TooLarge},
	} {
		_, err := guest.Invoke(compare, tt.in, workspace)
		if e, ok := err.(*tool.Error); !ok || e.Code != tt.code {
			t.Errorf("%s: %v; want %s", tt.in, err, tt.code)
		}
	}
}

// TestApplies: a diff that is applied to the old text gives the new one.
func TestApplies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"a\n", "b\n", "中\n", "\n", "c"})).Draw(t, "lines"), "")
		})
		was, is := text.Draw(t, "old"), text.Draw(t, "new")
		context := rapid.IntRange(0, 4).Draw(t, "context")
		in, err := json.Marshal(args{OldText: &was, NewText: &is, Context: &context})
		if err != nil {
			t.Fatal(err)
		}
		out, err := guest.Invoke(compare, string(in), guest.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if was == is {
			return
		}
		_, diff, _ := strings.Cut(out.Text, "\n")
		if got := patch(t, was, diff); got != is {
			t.Fatalf("%q → %q by %q: %q", was, is, diff, got)
		}
	})
}

// patch applies a unified diff as its format is described, and checks that what
// it says of the old text is so.
func patch(t *rapid.T, text, diff string) string {
	old := slices.Collect(strings.Lines(text))
	var b strings.Builder
	at := 0
	for _, hunk := range strings.Split(diff, "\n@@ ")[1:] {
		head, body, _ := strings.Cut(hunk, "\n")
		var first, count int
		if n, _ := fmt.Sscanf(head, "-%d,%d", &first, &count); n < 2 {
			count = 1
		}
		if count > 0 {
			first--
		}
		b.WriteString(strings.Join(old[at:first], ""))
		at = first
		body = strings.ReplaceAll(strings.TrimSuffix(body, "\n")+"\n", "\n\\ No newline at end of file\n", "\x00")
		for line := range strings.SplitAfterSeq(strings.ReplaceAll(body, "\x00", "\x00\n"), "\n") {
			if line == "" {
				continue
			}
			whole := strings.Replace(line[1:], "\x00\n", "", 1)
			if line[0] != '+' {
				if old[at] != whole {
					t.Fatalf("line %d is %q, not %q", at+1, old[at], whole)
				}
				at++
			}
			if line[0] != '-' {
				b.WriteString(whole)
			}
		}
		if at != first+count {
			t.Fatalf("%q has %d lines of the old text", head, at-first)
		}
	}
	return b.String() + strings.Join(old[at:], "")
}
