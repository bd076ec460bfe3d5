package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/weirhost/weir/plugins/internal/tooltest"
	"github.com/weirhost/weir/sdk/guest"
	"github.com/weirhost/weir/sdk/tool"
	"pgregory.net/rapid"
)

// project is a small tree; sizes are those of the texts.
func project() guest.Options {
	m := fstest.MapFS{
		"README.md": {Data: make([]byte, 900)}, "go.mod": {Data: make([]byte, 30)},
		"cmd/tool/main.go": {Data: make([]byte, 2048)}, "cmd/tool/flags.go": {Data: make([]byte, 1000)},
		"lib/a/b/c/deep.go": {Data: make([]byte, 100)}, "lib/a/top.go": {Data: make([]byte, 15000)},
		"lib/big.bin": {Data: make([]byte, 3<<20)}, "文档/说明.md": {Data: make([]byte, 10)},
		".git/HEAD": {}, "node_modules/x/y.js": {},
	}
	return guest.Options{FS: map[string]fs.FS{"/workspace": m}}
}

func TestGolden(t *testing.T) {
	for _, tt := range []struct {
		name, args string
		locale     tool.Locale
	}{
		{"default", `{}`, tool.En},
		{"one_level_zh", `{"max_depth":1}`, tool.Zh},
		{"few_files", `{"max_depth":9,"max_files":3}`, tool.En},
		{"few_files_zh", `{"max_files":3}`, tool.Zh},
		{"folder", `{"path":"lib","max_depth":9}`, tool.En},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := project()
			o.Locale = tt.locale
			out, err := guest.Invoke(structure, tt.args, o)
			if err != nil {
				t.Fatal(err)
			}
			got := out.Text
			if out.Entries != nil && out.Entries.Show > 0 {
				got += fmt.Sprintf("first: %d of %d\n", out.Entries.Show, len(out.Entries.Lines))
			}
			if out.More != nil {
				got += fmt.Sprintf("more: %d of %d, %s\n", out.More.Shown, out.More.Total, out.More.Args)
			}
			tooltest.Golden(t, tt.name, got)
		})
	}
}

// The operator's settings hold for a call that does not say, within the bounds.
func TestSettings(t *testing.T) {
	for _, tt := range []struct {
		args   string
		config map[string]string
		same   string // the call that gives the same tree without settings
	}{
		{`{}`, map[string]string{"max_depth": "1", "max_files": "2"}, `{"max_depth":1,"max_files":2}`},
		{`{"max_depth":9}`, map[string]string{"max_depth": "1"}, `{"max_depth":9}`},
		{`{}`, map[string]string{"max_depth": "99", "max_files": "-3"}, `{"max_depth":20,"max_files":1}`},
	} {
		o := project()
		want, err := guest.Invoke(structure, tt.same, o)
		if err != nil {
			t.Fatal(err)
		}
		o.Config = tt.config
		if got, err := guest.Invoke(structure, tt.args, o); err != nil || tree(got.Text) != tree(want.Text) {
			t.Errorf("%s with %v: %v\n%s\nwant\n%s", tt.args, tt.config, err, got.Text, want.Text)
		}
	}
}

// tree is a text without its first line and the files after the tree.
func tree(text string) string {
	_, text, _ = strings.Cut(text, "\n")
	text, _, _ = strings.Cut(text, "The others, folder by folder:")
	return text
}

// A call that does not say how much gets everything: a tree within the settings, which is
// shown first, and then every other file once, by its path.
func TestEverythingIsHandedOver(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := fstest.MapFS{"f-root": {}}
		for i := range rapid.IntRange(0, 40).Draw(t, "files") {
			dirs := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b"}), 0, 5).Draw(t, "dirs")
			m[strings.Join(append(dirs, fmt.Sprintf("f%d", i)), "/")] = &fstest.MapFile{}
		}
		o := guest.Options{FS: map[string]fs.FS{"/workspace": m}, Config: map[string]string{"max_files": rapid.SampledFrom([]string{"1", "5", "500"}).Draw(t, "most")}}
		o.Limits = tool.Limits{MaxChars: 300, MaxLines: 2}
		out, err := guest.Invoke(structure, `{}`, o)
		if err != nil || out.More != nil || strings.Count(out.Text, "  0 B\n") != len(m) || len(out.Entries.Lines) != len(m) {
			t.Fatalf("%v, %+v, %d files in\n%s", err, out.More, len(m), out.Text)
		}
		drawn := strings.Count(tree(out.Text), "  0 B\n")
		if all := out.Entries.Show == 0; all != (drawn == len(m)) || !all && out.Entries.Show != drawn {
			t.Fatalf("%d of %d files are drawn, %d are to be shown:\n%s", drawn, len(m), out.Entries.Show, out.Text)
		}
		folder := ""
		_, rest, _ := strings.Cut(out.Text, "The others, folder by folder:\n")
		for line := range strings.Lines(rest) {
			if name, ok := strings.CutPrefix(strings.TrimSuffix(line, "  0 B\n"), "  "); !ok {
				folder = strings.TrimSuffix(line, "\n")
			} else if m[strings.TrimPrefix(folder+name, "./")] == nil {
				t.Fatalf("there is no %s%s in\n%s", folder, name, out.Text)
			}
		}
	})
}

func TestRefuses(t *testing.T) {
	for _, tt := range []struct {
		args string
		code tool.Code
		why  string
	}{
		{`{"path":"README.md"}`, tool.BadArgs, "a file"},
		{`{"path":"nowhere"}`, tool.BadArgs, "a folder that is not there"},
		{`{"path":"../.."}`, tool.Denied, "outside"},
		{`{"max_depth":21}`, tool.BadArgs, "too deep"},
		{`{"max_depth":-1}`, tool.BadArgs, "negative"},
		{`{"max_files":5001}`, tool.BadArgs, "too many"},
		{`{"max_files":"all"}`, tool.BadArgs, "no number"},
	} {
		_, err := guest.Invoke(structure, tt.args, project())
		if e, ok := errors.AsType[*tool.Error](err); !ok || e.Code != tt.code || e.Hint == "" {
			t.Errorf("%s: %s gives %v", tt.why, tt.args, err)
		}
	}
}

// TestHonest: whatever the bounds, the files listed are as many as are
// claimed, within the bounds, and all of them when there is no more.
func TestHonest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := fstest.MapFS{"f-root": {}}
		for i := range rapid.IntRange(0, 40).Draw(t, "files") {
			dirs := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b"}), 0, 5).Draw(t, "dirs")
			m[strings.Join(append(dirs, fmt.Sprintf("f%d", i)), "/")] = &fstest.MapFile{}
		}
		depth, most := rapid.IntRange(1, 7).Draw(t, "depth"), rapid.IntRange(1, 45).Draw(t, "most")
		out, err := guest.Invoke(structure, fmt.Sprintf(`{"max_depth":%d,"max_files":%d}`, depth, most), guest.Options{FS: map[string]fs.FS{"/workspace": m}})
		if err != nil {
			t.Fatal(err)
		}
		listed := strings.Count(out.Text, "  0 B\n")
		total := len(m)
		if !strings.HasPrefix(out.Text, fmt.Sprintf(".: %s, 0 B, %d listed\n", some(total, "file"), listed)) || listed > most {
			t.Fatalf("%d of %d listed, bound %d:\n%s", listed, total, most, out.Text)
		}
		if (out.More == nil) != (listed == total) || out.More != nil && (out.More.Shown != listed || out.More.Total != total) {
			t.Fatalf("%d of %d listed, more %+v", listed, total, out.More)
		}
	})
}

func TestManyEntries(t *testing.T) {
	m := fstest.MapFS{}
	for i := range maxEntries + 10 {
		m[fmt.Sprintf("f%06d", i)] = &fstest.MapFile{}
	}
	out, err := guest.Invoke(structure, `{"max_files":1}`, guest.Options{FS: map[string]fs.FS{"/workspace": m}})
	if err != nil || !strings.HasPrefix(out.Text, ".: at least 50,000 files") {
		t.Errorf("%v %.60q", err, out.Text)
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KB", 1536: "1.5 KB", 10240: "10 KB", 1 << 20: "1.0 MB", 5 << 30: "5.0 GB", 3 << 50: "3072 TB"} {
		if got := size(n); got != want {
			t.Errorf("size(%d) = %q, want %q", n, got, want)
		}
	}
}
