package registry

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/host/plugin"
)

// counted repeats a line with a number in it until a manifest is full.
func counted(head, line, tail string) string {
	var b strings.Builder
	b.WriteString(head)
	for i := 0; b.Len() < maxManifest-300; i++ {
		fmt.Fprintf(&b, line, i)
	}
	return b.String() + tail
}

// TestManifestBombs holds manifests of the largest length to little memory and
// few complaints; a quadratic step in reading them would be minutes.
func TestManifestBombs(t *testing.T) {
	const n = maxManifest - 300
	for name, text := range map[string]string{
		"a list":            "x = [" + strings.Repeat("1,", n/2) + "]",
		"lists":             "x = [" + strings.Repeat("[],", n/3) + "]",
		"tables in a list":  "x = [" + strings.Repeat("{},", n/3) + "]",
		"headers":           strings.Repeat("[[x]]\n", n/6),
		"keys":              counted("", "k%d=1\n", ""),
		"dotted keys":       counted("", "a.b.c.d.e.f.g.h.i.k%d=1\n", ""),
		"tables":            counted("", "[a.b.c.d%d]\n", ""),
		"a key":             strings.Repeat("k", n) + " = 1",
		"a number":          "x = " + strings.Repeat("9", n),
		"an exponent":       "x = 1e" + strings.Repeat("9", n),
		"lines":             "x = \"\"\"" + strings.Repeat("\n", n) + "\"\"\"",
		"comments":          strings.Repeat("#\n", n/2),
		"arguments":         counted("[tool.params]\ntype = \"object\"\n", "properties.k%d.type = \"string\"\n", ""),
		"missing arguments": counted("[tool.params]\ntype = \"object\"\nrequired = [", "\"k%d\",", "]"),
		"examples":          strings.Repeat("[[tool.examples]]\nask = 1\n", n/26),
		"settings":          counted("", "[config.k%d]\n", ""),
		"patterns":          "[tool.output]\nkeep = [" + strings.Repeat("\"(((a{1,30}){1,30}){1,30})\",", n/29) + "]",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, problems := ParseManifest("plugin.toml", append(least("a", "a"), text...))
		runtime.ReadMemStats(&after)
		if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; mib > 400 {
			t.Errorf("%s: %d MiB were allocated", name, mib)
		}
		if len(problems) > 2*MaxReported {
			t.Errorf("%s: %d problems are told", name, len(problems))
		}
	}
}

// seemly holds a manifest that was accepted, and complaints about one that was
// not, to what may be shown: nothing unseen, nothing longer than it may be.
func seemly(t *testing.T, m Manifest, problems []Problem) {
	t.Helper()
	for _, p := range problems {
		if s := p.String(); strings.ContainsAny(s, "\n\t\x1b\x00") || text.Clean(s) != s || len(s) > 4*maxSaid {
			t.Errorf("an odd complaint: %+q", s)
		}
	}
	if len(errorsOf(problems)) > 0 {
		return
	}
	for _, o := range m.Tools {
		for _, s := range []string{o.Spec.Name, o.Spec.Description, o.Spec.DescriptionZh, o.Export, m.Name, m.Version, m.Description} {
			if text.Clean(s) != s || len(s) > maxDescription {
				t.Errorf("accepted: %+q", s)
			}
		}
		if s := string(o.Spec.Params); text.Clean(s) != s || len(s) > maxParams || len(o.Spec.Examples) > maxExamples {
			t.Errorf("accepted, with %d examples: %+q", len(o.Spec.Examples), s)
		}
	}
}

// A refused manifest is not kept in memory: a thousand of 200 KB took 200 MB for each scan
// that was remembered, for a few words that the problems quote.
func TestRefusedManifestsAreNotKept(t *testing.T) {
	dir := t.TempDir()
	const plugins, size = 60, 200_000
	for i := range plugins {
		d := filepath.Join(dir, fmt.Sprintf("d%d", i))
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(d, ManifestName), []byte("schema = 1\nname=\""+strings.Repeat("a", size)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	snap := Scan(t.Context(), []plugin.Folder{{Path: dir}}, Options{})
	runtime.GC()
	runtime.ReadMemStats(&after)
	if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); len(snap.Refused) != plugins || kept > plugins*size/5 {
		t.Errorf("%d refused, %d KB kept", len(snap.Refused), kept>>10)
	}
	// The next scan does not parse them again: beside 1,000 of them a new plugin came after 46 s.
	again := Scan(t.Context(), []plugin.Folder{{Path: dir}}, Options{Previous: snap})
	runtime.ReadMemStats(&before)
	if n := before.TotalAlloc - after.TotalAlloc; n > 3*plugins*size {
		t.Errorf("%d KB for the next scan", n>>10)
	}
	if !reflect.DeepEqual(snap.Refused, again.Refused) {
		t.Errorf("refused first %v, then %v", snap.Refused[0], again.Refused[0])
	}
	put := func(text string) *Snapshot {
		if err := os.WriteFile(filepath.Join(dir, "d0", ManifestName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return Scan(t.Context(), []plugin.Folder{{Path: dir}}, Options{Previous: again})
	}
	if s := put("schema = 1\nname ="); s.Refused[0].Why().String() == again.Refused[0].Why().String() {
		t.Errorf("a changed manifest is refused as before: %v", s.Refused[0].Why())
	}
}
