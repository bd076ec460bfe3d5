package rules

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every link of a page to a file of this repository, and to a heading in one, leads
// somewhere.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	read := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules" || d.Name() == "testdata" || d.Name() == "templates" || d.Name() == "build" || d.Name() == "target"):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".md":
			return nil
		}
		read++
		text, err := os.ReadFile(path)
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			checkLink(t, path, m[1])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if read < 20 {
		t.Errorf("%d pages were read", read)
	}
}

// Every path in ARCHITECTURE.md that begins with a folder of the repository exists, and the
// file has the functions and constants that are named after it and a colon.
func TestArchitectureNamesRealFiles(t *testing.T) {
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`((?:agent|docs|host|plugins|sdk)/[^`]*)`").FindAllStringSubmatch(string(text), -1)
	if len(named) < 40 {
		t.Errorf("only %d paths are named: the page is not read as it is written", len(named))
	}
	for _, m := range named {
		if found, err := filepath.Glob(m[1]); err != nil || len(found) == 0 {
			t.Errorf("ARCHITECTURE.md names %s, which does not exist", m[1])
		}
	}
	inside := regexp.MustCompile(`(?m)`+"`([a-z/0-9]+\\.go)`"+`: (\w+(?:, \w+)*)`).FindAllStringSubmatch(string(text), -1)
	if len(inside) < 30 {
		t.Errorf("names in only %d files are read: the page is not read as it is written", len(inside))
	}
	for _, m := range inside {
		code, err := os.ReadFile(m[1])
		if err != nil {
			t.Fatal(err)
		}
		for name := range strings.SplitSeq(m[2], ", ") {
			if !regexp.MustCompile(`(?m)^(?:func |func \(.*\) |\s*|const |var )` + name + `\b`).Match(code) {
				t.Errorf("ARCHITECTURE.md says that %s has %s, which it does not declare", m[1], name)
			}
		}
	}
}

// ARCHITECTURE.md says of every package what it does. What only one package can import is
// that package's own matter.
func TestArchitectureNamesEveryPackage(t *testing.T) {
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, glob := range []string{"agent/*/*.go", "agent/internal/*/*.go", "agent/model/*/*.go", "host/*/*.go", "host/daemon/*/*.go", "host/internal/*/*.go", "host/script/*/*.go", "sdk/*/*.go"} {
		files, err := filepath.Glob(glob)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", glob, len(files), err)
		}
		dir := ""
		for _, file := range files {
			if filepath.Dir(file) == dir {
				continue
			}
			dir = filepath.Dir(file)
			if name := filepath.Base(dir); !regexp.MustCompile("[`/]" + name + "`").Match(text) {
				t.Errorf("ARCHITECTURE.md does not name the package %s", dir)
			}
		}
	}
}

func checkLink(t *testing.T, page, link string) {
	t.Helper()
	if strings.Contains(link, "://") || strings.HasPrefix(link, "mailto:") {
		return
	}
	file, heading, _ := strings.Cut(link, "#")
	target := page
	if file != "" {
		target = filepath.Join(filepath.Dir(page), filepath.FromSlash(file))
	}
	if _, err := os.Stat(target); err != nil {
		t.Errorf("%s links to %s, which does not exist", page, link)
		return
	}
	if heading == "" || filepath.Ext(target) != ".md" {
		return
	}
	text, err := os.ReadFile(target)
	if err != nil {
		t.Fatal(err)
	}
	marks := regexp.MustCompile("[^\\p{L}\\p{N} _-]")
	for line := range strings.Lines(string(text)) {
		title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " ")
		anchor := strings.ReplaceAll(marks.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), ""), " ", "-")
		if ok && strings.HasPrefix(line, "#") && anchor == heading {
			return
		}
	}
	t.Errorf("%s links to %s, and %s has no such heading", page, link, target)
}
