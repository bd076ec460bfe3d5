package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// dist has what the sources give: go generate ./host/daemon/web writes it.
func TestDistIsCurrent(t *testing.T) {
	want, err := build("..", everybody)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir("../dist")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
		got, err := os.ReadFile(filepath.Join("../dist", e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want[e.Name()]) {
			t.Errorf("dist/%s is not what the sources give: go generate ./host/daemon/web", e.Name())
		}
	}
	if all := slices.Sorted(maps.Keys(want)); !slices.Equal(names, all) {
		t.Errorf("dist has %v; the sources give %v: go generate ./host/daemon/web", names, all)
	}
}

// What only tests and developers look at is not in what everybody loads.
func TestGalleryIsApart(t *testing.T) {
	files, err := build("..", gallery)
	if err != nil {
		t.Fatal(err)
	}
	dist, err := os.ReadFile("../dist/app.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"Components", "panic: closed", "CallCard, "} {
		if !bytes.Contains(files["app.js"], []byte(text)) {
			t.Errorf("the page with its gallery has no %q", text)
		}
		if bytes.Contains(dist, []byte(text)) {
			t.Errorf("dist has %q of the gallery", text)
		}
	}
}

// Every library in src/lib is the file of the package that versions.json names.
func TestLibraries(t *testing.T) {
	raw, err := os.ReadFile("../src/lib/versions.json")
	if err != nil {
		t.Fatal(err)
	}
	var listed []struct{ File, Package, Version, Licence, From, SHA256 string }
	if err := json.Unmarshal(raw, &listed); err != nil {
		t.Fatal(err)
	}
	var used []string
	for _, l := range listed {
		used = append(used, l.File)
		data, err := os.ReadFile(filepath.Join("../src/lib", l.File))
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != l.SHA256 {
			t.Errorf("%s is not the file %s of %s %s", l.File, l.From, l.Package, l.Version)
		}
		if l.Licence != "MIT" || l.Version == "" {
			t.Errorf("%s has the licence %q and the version %q", l.File, l.Licence, l.Version)
		}
	}
	slices.Sort(used)
	if want := slices.Sorted(maps.Values(libraries)); !slices.Equal(used, want) {
		t.Errorf("versions.json lists %v; the page uses %v", used, want)
	}
}
