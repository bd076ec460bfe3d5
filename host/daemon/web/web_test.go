package web

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// sources returns the page's own sources by name, without the libraries.
func sources(t *testing.T, ends ...string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir("src", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && name == filepath.Join("src", "lib") {
			return fs.SkipDir
		}
		if !e.IsDir() && slices.Contains(ends, filepath.Ext(name)) {
			out[name] = read(t, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// code is all of the page's own code, without its texts.
func code(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for name, text := range sources(t, ".ts", ".tsx", ".js") {
		if !strings.HasPrefix(name, filepath.Join("src", "words")) {
			all.WriteString(text)
		}
	}
	return all.String()
}

// found lists the first group of every match.
func found(re, s string) []string {
	var out []string
	for _, m := range regexp.MustCompile(re).FindAllStringSubmatch(s, -1) {
		out = append(out, m[1])
	}
	return out
}

const mostBytes = 100_000 // of all files, gzipped

func TestWeight(t *testing.T) {
	var packed bytes.Buffer
	gz := gzip.NewWriter(&packed)
	err := fs.WalkDir(Files(), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := fs.ReadFile(Files(), name)
		if err != nil {
			return err
		}
		_, err = gz.Write(data)
		return err
	})
	if err := errors.Join(err, gz.Close()); err != nil {
		t.Fatal(err)
	}
	if packed.Len() > mostBytes {
		t.Errorf("%d bytes gzipped: this page is meant to stay small", packed.Len())
	}
}

// The daemon's policy allows scripts and styles of its own files alone; a page
// that needed more would be a dead page.
func TestPageObeysTheStrictPolicy(t *testing.T) {
	html := read(t, "src/index.html")
	for what, re := range map[string]string{
		"an inline handler":  `(?i)<[^>]*\s(on[a-z]+)\s*=`,
		"an inline style":    `(?i)<[^>]*\s(style)\s*=`,
		"a style element":    `(?i)<(style)\b`,
		"a javascript: link": `(?i)(javascript:)`,
	} {
		if got := found(re, html); got != nil {
			t.Errorf("index.html has %s: %v", what, got)
		}
	}
	for _, tag := range found(`(?s)(<script\b.*?</script>)`, html) {
		if !regexp.MustCompile(`^<script [^>]*src="[a-z.]+"></script>$`).MatchString(tag) {
			t.Errorf("a script of its own: %s", tag)
		}
	}
	for _, file := range found(`(?:src|href)="([^"#]+)"`, html) {
		if _, err := fs.Stat(Files(), file); err != nil {
			t.Error(err)
		}
	}
}

// Nothing is asked of anybody but the daemon: the page works offline.
func TestNoAddressOfAnybodyElse(t *testing.T) {
	for name, text := range sources(t, ".ts", ".tsx", ".js", ".css", ".html") {
		if got := found(`((?i:(?:https?:|wss?:|["'(])//[\w.]+)|\burl\()`, text); got != nil {
			t.Errorf("%s leads elsewhere: %v", name, got)
		}
	}
}

// What a model or a tool says must never become markup or code.
func TestTextStaysText(t *testing.T) {
	re := `((?i:dangerouslySetInnerHTML)|innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|DOMParser|srcdoc|\beval\b|new Function|setTimeout\(["'\x60])`
	if got := found(re, code(t)); got != nil {
		t.Errorf("the page uses %v", got)
	}
}

// Every event of an answer is handled.
func TestEveryEventIsHandled(t *testing.T) {
	follow := read(t, "src/ask/follow.ts")
	names := found(`(?m)^\tEvent\w+ += "([a-z_.]+)"`, read(t, "../api/events.go"))
	if len(names) < 20 {
		t.Fatalf("events.go has the events %v", names)
	}
	for _, name := range append(names, found(`yield \["([a-z_.]+)"`, read(t, "src/core/stream.js"))...) {
		if !strings.Contains(follow, "\n  \""+name+"\"(") {
			t.Errorf("no handler for %s", name)
		}
	}
}

// What the page asks the daemon for is there to be asked for.
func TestAddressesAreRoutes(t *testing.T) {
	names, err := filepath.Glob("../*.go")
	below, err2 := filepath.Glob("../*/*.go")
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	var routes []string
	for _, name := range append(names, below...) {
		routes = append(routes, found(`Path: +"/(api/[^"]+)"`, read(t, name))...)
	}
	for i, r := range routes {
		routes[i] = regexp.MustCompile(`\{\w+\}`).ReplaceAllString(r, "*")
	}
	asked := found("[\"`](api/[^\"`?]*)", code(t))
	for _, a := range asked {
		a = regexp.MustCompile(`\$\{what\}$`).ReplaceAllString(a, "")
		a = regexp.MustCompile(`\$\{[^}]*\}`).ReplaceAllString(a, "*")
		if last := regexp.MustCompile(`/\w+$`).ReplaceAllString(a, "/*"); !slices.Contains(routes, a) && !slices.Contains(routes, last) {
			t.Errorf("the page asks for %s; the daemon has %v", a, routes)
		}
	}
	if len(asked) < 20 {
		t.Errorf("found only %v", asked)
	}
}

var entry = regexp.MustCompile(`^  (\w+): \["((?:[^"\\]|\\.)+)", "((?:[^"\\]|\\.)+)"\],$`)

// words returns all texts, and reports what is not a pair of them.
func words(t *testing.T) map[string][2]string {
	t.Helper()
	out := map[string][2]string{}
	names, err := filepath.Glob("src/words/*.ts")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		lines := strings.Split(strings.TrimSpace(read(t, name)), "\n")
		for _, line := range lines[2 : len(lines)-1] {
			m := entry.FindStringSubmatch(line)
			if m == nil {
				t.Errorf("%s: not a pair of texts: %s", name, line)
				continue
			}
			if _, ok := out[m[1]]; ok {
				t.Errorf("%s has %s twice", name, m[1])
			}
			out[m[1]] = [2]string{m[2], m[3]}
		}
	}
	return out
}

// Every text exists in both languages, with the same places to fill in, and every text
// is used. tsc finds those that are used and not there.
func TestWords(t *testing.T) {
	ts := code(t)
	for key, pair := range words(t) {
		if !regexp.MustCompile(`\p{Han}`).MatchString(pair[1]) && pair[1] != pair[0] && key != "otherLanguage" || regexp.MustCompile(`\p{Han}`).MatchString(pair[0]) && key != "otherLanguage" {
			t.Errorf("%s: %q and %q are not English and Chinese", key, pair[0], pair[1])
		}
		en, zh := found(`\{(\w+)\}`, pair[0]), found(`\{(\w+)\}`, pair[1])
		slices.Sort(en)
		slices.Sort(zh)
		if !slices.Equal(en, zh) {
			t.Errorf("%s fills in %v in English and %v in Chinese", key, en, zh)
		}
		group, _, _ := strings.Cut(key, "_")
		if !strings.Contains(ts, `"`+key+`"`) && !strings.Contains(ts, "`"+group+"_${") {
			t.Errorf("the text %s is not used", key)
		}
	}
}

// Each layer of limits has the name that notices give it.
func TestLayersHaveOneName(t *testing.T) {
	all := words(t)
	for _, l := range []tool.Layer{tool.LayerTool, tool.LayerDefault, tool.LayerOperator, tool.LayerCeiling, tool.LayerAgent, tool.LayerRound, tool.LayerLoad} {
		want := [2]string{limit.LayerName(l, tool.En), limit.LayerName(l, tool.Zh)}
		if got := all["layer_"+string(l)]; got != want {
			t.Errorf("%s is %q on the page and %q in notices", l, got, want)
		}
	}
}

// Every place of a text is filled in: an empty one leaves a scrap, such as a colon before a
// full stop.
func TestTextsAreFilledIn(t *testing.T) {
	all, ts := words(t), code(t)
	call := regexp.MustCompile(`\bt\("(\w+)"(?:\)|(, \{))`) // with no variable in place of the object
	for _, m := range call.FindAllStringSubmatchIndex(ts, -1) {
		key, args := ts[m[2]:m[3]], ""
		if m[4] >= 0 {
			depth, end := 1, m[5]
			for ; end < len(ts) && depth > 0; end++ {
				switch ts[end] {
				case '{':
					depth++
				case '}':
					depth--
				}
			}
			args = ts[m[5]:end]
		}
		for _, place := range found(`\{(\w+)\}`, all[key][0]) {
			if !regexp.MustCompile(`\b`+place+`\b`).MatchString(args) && !strings.Contains(args, "...") {
				t.Errorf("t(%q) does not fill in {%s}", key, place)
			}
		}
	}
}

// Every state of a plugin, every cause for which one waits and every effect has a name.
func TestStatesOfPlugins(t *testing.T) {
	all := words(t)
	for _, state := range []string{"ready", "waiting", "refused", "disabled", "quarantined"} {
		if _, ok := all["state_"+state]; !ok {
			t.Errorf("the state %s has no name", state)
		}
	}
	for _, effect := range found(`(?m)^\tEffect\w+ +(?:Effect )?= "(\w+)"`, read(t, "../../plugin/info.go")) {
		if _, ok := all["effect_"+effect]; !ok {
			t.Errorf("the effect %s has no name", effect)
		}
	}
}

// Every reason for which a model's call cannot be used is said in words.
func TestReasonsOfMalformedCalls(t *testing.T) {
	reasons := found(`(?m)\bReason\w+ +Reason = "(\w+)"`, read(t, "../../../agent/parse/parse.go"))
	if len(reasons) < 6 {
		t.Fatalf("found only %v", reasons)
	}
	all := words(t)
	for _, r := range reasons {
		if _, ok := all["malformed_"+r]; !ok {
			t.Errorf("the reason %s has no text", r)
		}
	}
}

// Enter must not send while an input method composes.
func TestInputMethodIsRespected(t *testing.T) {
	text := read(t, "src/ask/Composer.tsx")
	for _, s := range []string{"e.isComposing", "e.keyCode === 229"} {
		if !strings.Contains(text, s) {
			t.Errorf("the box for the question does not look at %s", s)
		}
	}
}

func TestStyleServesEverybody(t *testing.T) {
	css, err := fs.ReadFile(Files(), "style.css")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"light-dark(", "prefers-reduced-motion", "forced-colors", ":focus-visible"} {
		if !bytes.Contains(css, []byte(s)) {
			t.Errorf("style.css has no %s", s)
		}
	}
}
