package plugintest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	udiff "github.com/aymanbagabas/go-udiff"

	"github.com/weirhost/weir/host/internal/tomlpos"
	"github.com/weirhost/weir/sdk/tool"
)

// texts are the expectations of a text.
type texts struct {
	equals   *string
	contains []string
	excludes []string
	matches  *regexp.Regexp
	golden   string // path of a file that the text must equal
	at       map[string]Problem
}

// texts decodes equals, contains, excludes, matches and golden. It returns nil
// for the zero node.
func (n node) texts() *texts {
	if n.Table == nil {
		return nil
	}
	t := n.someTexts()
	n.done()
	return t
}

// someTexts is texts for a table with further keys.
func (n node) someTexts() *texts {
	t := &texts{at: map[string]Problem{}}
	if s, ok := tomlpos.Typed[string](n.Table, "equals", tool.Textf("a text")); ok {
		t.equals = &s
	}
	t.contains, _ = n.list("contains")
	t.excludes, _ = n.list("excludes")
	t.matches = n.expression("matches")
	if name := n.text("golden"); name != "" {
		t.golden = filepath.Join(filepath.Dir(n.src.file), filepath.FromSlash(name))
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			n.Bad("golden", tool.Textf("name a file below the folder of the cases"), "%s leads out of the folder of the cases", n.Name("golden"))
		}
	}
	for _, key := range []string{"equals", "contains", "excludes", "matches", "golden"} {
		t.at[key] = n.place(key)
	}
	return t
}

// check returns the differences of a text. what names the text in messages.
func (t *texts) check(what tool.Text, got string) []Problem {
	if t == nil {
		return nil
	}
	var out []Problem
	wrong := func(key, detail, format string, args ...any) {
		p := t.at[key]
		p.Msg, p.Detail = tool.Textf(format, args...), detail
		out = append(out, p)
	}
	if t.equals != nil && *t.equals != got {
		wrong("equals", differing(*t.equals, got), "%s is not as expected", what)
	}
	for _, s := range t.contains {
		if !strings.Contains(got, s) {
			wrong("contains", "got:\n"+indent(clip(got, maxGot)), "%s does not contain %q", what, clip(s, 200))
		}
	}
	for _, s := range t.excludes {
		if strings.Contains(got, s) {
			wrong("excludes", "got:\n"+indent(clip(got, maxGot)), "%s contains %q", what, clip(s, 200))
		}
	}
	if t.matches != nil && !t.matches.MatchString(got) {
		wrong("matches", "got:\n"+indent(clip(got, maxGot)), "%s does not match %s", what, t.matches)
	}
	return out
}

// maxGot bounds an unexpected text in a message, in characters.
const maxGot = 1500

// checkGolden compares a text with its golden file, or writes the file. updated
// is the file's path if it changed.
func (t *texts) checkGolden(what tool.Text, got string, update bool) (out []Problem, updated string) {
	if t == nil || t.golden == "" {
		return nil, ""
	}
	want, err := os.ReadFile(t.golden)
	if err == nil && string(want) == got {
		return nil, ""
	}
	p := t.at["golden"]
	switch {
	case update:
		if err := writeGolden(t.golden, got); err != nil {
			p.Msg = tool.Textf("the golden file %s cannot be written", t.golden)
			return []Problem{p}, ""
		}
		return nil, t.golden
	case err != nil:
		p.Msg, p.Fix = tool.Textf("the golden file %s cannot be read", t.golden), tool.Textf("write it with --update, and look at it")
	default:
		p.Msg, p.Fix = tool.Textf("%s is not that of %s", what, t.golden), tool.Textf("fix the tool, or accept the new text with --update")
		p.Detail = differing(string(want), got)
	}
	return []Problem{p}, ""
}

func writeGolden(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// differing returns a line diff of two texts: - for the expected one, + for the
// actual one.
func differing(want, got string) string {
	if len(want)+len(got) > 256<<10 { // a diff would take long and be unreadable
		return "expected:\n" + indent(clip(want, maxGot)) + "\ngot:\n" + indent(clip(got, maxGot))
	}
	d := udiff.Unified("expected", "got", ended(want), ended(got))
	if d == "" {
		return "they differ in the end of the last line alone: " + fmt.Sprintf("expected %q, got %q", tail(want), tail(got))
	}
	return clip(strings.TrimSuffix(d, "\n"), 4000)
}

func ended(s string) string {
	if strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}

func tail(s string) string {
	if r := []rune(s); len(r) > 20 {
		return "…" + string(r[len(r)-20:])
	}
	return s
}
