package guesttest

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// The cache of compiled modules goes by a guest's bytes, so these must not
// differ from run to run, nor hold the revision they were built from.
func TestBuildIsTheSameEachTime(t *testing.T) {
	t.Setenv("GOENV", "off") // what a developer has set there must not decide
	var built [2][]byte
	for i := range built {
		out := filepath.Join(t.TempDir(), "long_text.wasm")
		if err := guest.build(filepath.Join(Root(t), "plugins", "long_text"), out); err != nil {
			t.Fatal(err)
		}
		wasm, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(wasm, []byte("vcs.revision")) {
			t.Error("the module holds the revision it was built from")
		}
		built[i] = wasm
	}
	if len(built[0]) == 0 || !bytes.Equal(built[0], built[1]) {
		t.Errorf("two builds of one source differ: %d and %d bytes", len(built[0]), len(built[1]))
	}
}

// What a guest is built from decides whether it is built again: its own files,
// those of the packages that it reaches, what they embed, the other modules.
func TestKeptByWhatItIsBuiltFrom(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	sum := func() string {
		t.Helper()
		s, err := guest.fingerprint(root, filepath.Join(root, "tool"))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	write("go.mod", "module "+module+"\n")
	write("go.sum", "")
	write("tool/main.go", "package main\n\nimport _ \""+module+"/near\"\n\nfunc main() {}\n")
	write("near/near.go", "package near\n\nimport (\n\t_ \"embed\"\n\t_ \""+module+"/far\"\n)\n\n//go:embed words/*\nvar Words string\n")
	write("near/words/de/a.txt", "eins")
	write("far/far.go", "package far\n")
	write("aside/aside.go", "package aside\n")
	last := sum()
	for _, c := range []struct {
		file, text string
		same       bool
	}{
		{file: "tool/main_test.go", text: "package main\n", same: true},
		{file: "tool/tool.wasm", text: "built", same: true},
		{file: "aside/aside.go", text: "package aside\n\n// More.\n", same: true},
		{file: "far/far.go", text: "package far\n\n// More.\n"},
		{file: "far/far_wasip1.go", text: "package far\n"},
		{file: "near/words/de/a.txt", text: "zwei"},
		{file: "near/words/de/b.txt", text: "drei"},
		{file: "go.sum", text: "a v1.0.0 h1:x\n"},
		{file: "tool/other.go", text: "package main\n"},
	} {
		write(c.file, c.text)
		if now := sum(); (now == last) != c.same {
			t.Errorf("%s: the digest is the same: %v", c.file, now == last)
		} else {
			last = now
		}
	}
	if s, err := program.fingerprint(root, filepath.Join(root, "tool")); err != nil || s == last {
		t.Errorf("a guest and a program have one digest (%v)", err)
	}
}

// What was built once is not built again, and what a test does to its copy does
// nothing to the next one.
func TestShippedAreKept(t *testing.T) {
	t.Setenv(CacheVariable, t.TempDir())
	first := filepath.Join(Shipped(t, "calculator"), "calculator", "calculator.wasm")
	whole, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(first, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", "") // no toolchain any more
	second, err := os.ReadFile(filepath.Join(Shipped(t, "calculator"), "calculator", "calculator.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	if len(whole) == 0 || !bytes.Equal(whole, second) {
		t.Errorf("the second copy has %d bytes, the first %d", len(second), len(whole))
	}
}
