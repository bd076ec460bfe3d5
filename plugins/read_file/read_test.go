package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/weirhost/weir/sdk/guest"
	"github.com/weirhost/weir/sdk/tool"
	"pgregory.net/rapid"
)

// workspace holds files by name and content.
func workspace(files map[string]string) guest.Options {
	m := fstest.MapFS{}
	for name, text := range files {
		m[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return guest.Options{FS: map[string]fs.FS{"/workspace": m}}
}

// numbered is n lines "1\n2\n…".
func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintln(&b, i+1)
	}
	return b.String()
}

func TestRead(t *testing.T) {
	o := workspace(map[string]string{
		"a.txt": "one\ntwo\nthree", "ten": numbered(10), "empty": "", "sub/zh.md": "# 标题\n", "crlf": "a\r\nb\r\n",
		"wide": "\xff\xfeh\x00i\x00\n\x00", "bom": "\ufeffx\n", "latin": "caf\xe9\n", "pic": "\x89PNG\r\n\x1a\n0000", "blank": "\n",
	})
	for _, tt := range []struct{ args, want, why string }{
		{`{"file_path":"a.txt"}`, "one\ntwo\nthree", "the text, unchanged"},
		{`{"file_path":"/workspace/sub/zh.md"}`, "# 标题\n", "by its guest path"},
		{`{"file_path":"ten","start_line":3,"end_line":5}`, "3\n4\n5\n", "a range"},
		{`{"file_path":"ten","start_line":10}`, "10\n", "to the end"},
		{`{"file_path":"ten","end_line":1}`, "1\n", "from the beginning"},
		{`{"file_path":"ten","start_line":9,"end_line":99}`, "9\n10\n", "an end behind the end"},
		{`{"file_path":"a.txt","start_line":3}`, "three", "a last line without its end"},
		{`{"file_path":"crlf"}`, "a\r\nb\r\n", "line ends are left to the host"},
		{`{"file_path":"wide"}`, "hi\n", "UTF-16"},
		{`{"file_path":"bom"}`, "x\n", "a byte order mark goes"},
		{`{"file_path":"latin"}`, "caf\ufffd\n", "bytes that are no UTF-8"},
		{`{"file_path":"blank"}`, "\n", "a single line end is a line"},
		{`{"file_path":"empty"}`, "empty is empty.", "never an empty answer"},
		{`{"file_path":"pic"}`, "pic is a PNG image of 12 bytes; it has no text to show.", "bytes are described"},
	} {
		out, err := guest.Invoke(read, tt.args, o)
		if err != nil || out.Text != tt.want {
			t.Errorf("%s: %s gives %q, %v; want %q", tt.why, tt.args, out.Text, err, tt.want)
		}
		if len(out.Sources) != 1 || out.More != nil {
			t.Errorf("%s: sources %v, more %v", tt.why, out.Sources, out.More)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	o := workspace(map[string]string{"ten": numbered(10), "sub/loop.go": "x"})
	for _, tt := range []struct {
		args, says string
		code       tool.Code
		why        string
	}{
		{`{}`, "empty", tool.BadArgs, "no path"},
		{`{"file_path":" "}`, "empty", tool.BadArgs, "a blank path"},
		{`{"file_path":"sub"}`, "loop.go", tool.BadArgs, "a folder lists what is in it"},
		{`{"file_path":"lop.go"}`, "sub/loop.go", tool.BadArgs, "a near name"},
		{`{"file_path":"../x"}`, "leaves", tool.Denied, "outside"},
		{`{"file_path":"ten","start_line":11}`, "10 lines", tool.BadArgs, "behind the end, with how many there are"},
		{`{"file_path":"ten","start_line":5,"end_line":4}`, "before", tool.BadArgs, "a range upside down"},
		{`{"file_path":"ten","start_line":-1}`, "negative", tool.BadArgs, "negative lines"},
		{`{"file_path":"ten","end_line":"5"}`, "end_line", tool.BadArgs, "a string for a number"},
	} {
		_, err := guest.Invoke(read, tt.args, o)
		e, ok := errors.AsType[*tool.Error](err)
		if !ok || e.Code != tt.code || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %s gives %v", tt.why, tt.args, err)
		}
	}
	if _, err := guest.Invoke(read, `{"file_path":"a"}`, guest.Options{}); err == nil || !strings.Contains(err.Error(), "denied") {
		t.Errorf("nothing granted: %v", err)
	}
}

// TestLargeFile follows `more` from page to page and finds the whole file.
func TestLargeFile(t *testing.T) {
	line := strings.Repeat("x", 99) + "\n"
	whole := strings.Repeat(line, 90_000) // 9 MB
	o := workspace(map[string]string{"big": whole})
	var got strings.Builder
	args, pages := `{"file_path":"big"}`, 0
	for {
		out, err := guest.Invoke(read, args, o)
		if err != nil {
			t.Fatal(err)
		}
		got.WriteString(out.Text)
		pages++
		if out.More == nil {
			break
		}
		if len(out.Text) > maxText || out.More.Shown != strings.Count(out.Text, "\n") {
			t.Fatalf("page %d: %d bytes, more %+v", pages, len(out.Text), out.More)
		}
		if pages == 1 && out.More.Total != 90_000 {
			t.Errorf("total %d", out.More.Total)
		}
		args = `{"file_path":"big",` + string(out.More.Args[1:])
	}
	if got.String() != whole || pages != 2 {
		t.Errorf("%d bytes of %d in %d pages", got.Len(), len(whole), pages)
	}
}

func TestLargeRange(t *testing.T) {
	o := workspace(map[string]string{"big": strings.Repeat(strings.Repeat("x", 9999)+"\n", 1000)})
	out, err := guest.Invoke(read, `{"file_path":"big","start_line":11,"end_line":900}`, o)
	if err != nil || out.More == nil || out.More.Total != 890 || string(out.More.Args) != fmt.Sprintf(`{"end_line":900,"start_line":%d}`, 11+out.More.Shown) {
		t.Errorf("%v %+v", err, out.More)
	}
	out, err = guest.Invoke(read, `{"file_path":"big","start_line":11,"end_line":20}`, o)
	if err != nil || out.More != nil || len(out.Text) != 100_000 {
		t.Errorf("a range that fits: %v %+v %d", err, out.More, len(out.Text))
	}
}

func TestOneEndlessLine(t *testing.T) {
	o := workspace(map[string]string{"min.js": strings.Repeat("中", 3<<20) + "\nlast\n"})
	out, err := guest.Invoke(read, `{"file_path":"min.js"}`, o)
	text, note, _ := strings.Cut(out.Text, "\n")
	if err != nil || len(text) > maxText || len(text) < maxText-3 || strings.Contains(text, "\ufffd") || note != "[this line goes on: it has 9,437,185 bytes]" {
		t.Errorf("%v: %d bytes, %q", err, len(text), note)
	}
	if out.More == nil || string(out.More.Args) != `{"start_line":2}` {
		t.Errorf("more %+v", out.More)
	}
}

// TestRangesJoin: any way to part a file in two gives the file back.
func TestRangesJoin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`([a-c]{0,5}\n){1,20}[a-c]{0,3}`).Draw(t, "text")
		o := workspace(map[string]string{"f": text})
		lines := strings.Count(text, "\n")
		if !strings.HasSuffix(text, "\n") {
			lines++
		}
		if lines < 2 {
			return
		}
		at := rapid.IntRange(1, lines-1).Draw(t, "at")
		a, errA := guest.Invoke(read, fmt.Sprintf(`{"file_path":"f","end_line":%d}`, at), o)
		b, errB := guest.Invoke(read, fmt.Sprintf(`{"file_path":"f","start_line":%d}`, at+1), o)
		if errA != nil || errB != nil || a.Text+b.Text != text {
			t.Fatalf("%q + %q is not %q (%v %v)", a.Text, b.Text, text, errA, errB)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	o := workspace(map[string]string{"f": strings.Repeat("a line of some text\n", 50000)})
	b.SetBytes(1000000)
	for b.Loop() {
		if _, err := guest.Invoke(read, `{"file_path":"f"}`, o); err != nil {
			b.Fatal(err)
		}
	}
}

// closed shows files that may not be opened, or break while they are read.
type closed struct{ fs.FS }

func (c closed) Open(name string) (fs.File, error) {
	f, err := c.FS.Open(name)
	switch {
	case err != nil:
		return nil, err
	case name == "hidden":
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	case name == "odd":
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("I/O error")}
	case name == "torn":
		return torn{f, errors.New("I/O error")}, nil
	case name == "shut":
		return torn{f, fs.ErrPermission}, nil
	}
	return f, nil
}

func (c closed) Stat(name string) (fs.FileInfo, error) {
	if name == "link" {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrPermission}
	}
	return fs.Stat(c.FS, name)
}

type torn struct {
	fs.File
	err error
}

func (f torn) Read([]byte) (int, error) { return 0, f.err }

// A model that is denied a file must not try again; one whose reading failed may.
func TestReadOfWhatIsClosed(t *testing.T) {
	m := fstest.MapFS{}
	for _, name := range []string{"hidden", "link", "odd", "torn", "shut"} {
		m[name] = &fstest.MapFile{Data: []byte("secret")}
	}
	o := guest.Options{FS: map[string]fs.FS{"/workspace": closed{m}}}
	for _, tt := range []struct {
		name, msg string
		code      tool.Code
		why       string
	}{
		{"hidden", `"hidden" may not be read.`, tool.Denied, "the host refuses to open it"},
		{"link", `"link" may not be read.`, tool.Denied, "it leads out of the folder"},
		{"shut", `"shut" may not be read.`, tool.Denied, "the host refuses to read it"},
		{"odd", `"odd" cannot be opened.`, tool.Failed, "an error of the system"},
		{"torn", `"torn" cannot be read.`, tool.Failed, "an error while reading"},
	} {
		_, err := guest.Invoke(read, fmt.Sprintf(`{"file_path":%q}`, tt.name), o)
		e, ok := errors.AsType[*tool.Error](err)
		if !ok || e.Code != tt.code || e.Msg != tt.msg || e.Hint == "" {
			t.Errorf("%s: %v", tt.why, err)
		}
	}
}
