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
)

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := fs.ReadFile(Files(), name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// order lists the page's code without its texts; a file imports only files before it.
var order = []string{"base.js", "markdown.js", "stream.js", "archive.js", "answer.js", "account.js", "plugins.js", "talks.js", "app.js"}

// scripts are the page's code, without its texts.
func scripts(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, name := range order {
		all.WriteString(read(t, name))
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

var pageFiles = slices.Sorted(slices.Values(append([]string{"icon.svg", "index.html", "style.css", "words.js"}, order...)))

func TestFiles(t *testing.T) {
	entries, err := fs.ReadDir(Files(), ".")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	var packed bytes.Buffer
	gz := gzip.NewWriter(&packed)
	for _, e := range entries {
		names = append(names, e.Name())
		if _, err := gz.Write([]byte(read(t, e.Name()))); err != nil {
			t.Fatal(err)
		}
	}
	if want := pageFiles; !slices.Equal(names, want) {
		t.Errorf("files %v; want %v", names, want)
	}
	if err := gz.Close(); err != nil {
		t.Fatal(err)
	}
	if packed.Len() > 40_200 {
		t.Errorf("%d bytes gzipped: this page is meant to stay small", packed.Len())
	}
}

// The daemon's policy allows scripts and styles of its own files alone; a page
// that needed more would be a dead page.
func TestPageObeysTheStrictPolicy(t *testing.T) {
	html := read(t, "index.html")
	for what, re := range map[string]string{
		"an inline handler":  `(?i)<[^>]*\s(on[a-z]+)\s*=`,
		"an inline style":    `(?i)<[^>]*\s(style)\s*=`,
		"a style element":    `(?i)<(style)\b`,
		"a form's target":    `(?i)<form[^>]*\s(action)\s*=`,
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
}

// Nothing is asked of anybody but the daemon: the page works offline.
func TestNoAddressOfAnybodyElse(t *testing.T) {
	for _, name := range pageFiles {
		s := strings.ReplaceAll(read(t, name), `xmlns="http://www.w3.org/2000/svg"`, "")
		if got := found(`((?i:(?:https?:|wss?:|["'(])//[\w.]+|@import)|\burl\()`, s); got != nil {
			t.Errorf("%s leads elsewhere: %v", name, got)
		}
	}
	for _, file := range found(`(?:src|href)="([^"#]+)"`, read(t, "index.html")) {
		read(t, file)
	}
}

// What a model or a tool says must never become markup or code.
func TestTextStaysText(t *testing.T) {
	js := scripts(t)
	re := `(innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|DOMParser|srcdoc|\beval\b|new Function|setTimeout\(["'\x60])`
	if got := found(re, js); got != nil {
		t.Errorf("the page uses %v", got)
	}
}

// A file imports only files that are loaded before it, and only names that they have.
func TestImportsPointDown(t *testing.T) {
	for i, name := range order {
		for _, m := range regexp.MustCompile(`(?m)^import \{(.*)\} from "\./(.*)";$`).FindAllStringSubmatch(read(t, name), -1) {
			if m[2] == "words.js" {
				continue
			}
			if !slices.Contains(order[:i], m[2]) {
				t.Errorf("%s imports %s, which does not come before it", name, m[2])
			}
			exported := strings.Join(found(`(?m)^export \{(.*)\};$`, read(t, m[2])), ",") + "," + strings.Join(found(`(?m)^export (?:async )?(?:function|const) (\w+)`, read(t, m[2])), ",")
			for _, taken := range strings.Split(m[1], ",") {
				if !slices.Contains(strings.FieldsFunc(exported, func(r rune) bool { return r == ',' || r == ' ' }), strings.TrimSpace(taken)) {
					t.Errorf("%s does not export %s, which %s imports", m[2], taken, name)
				}
			}
		}
	}
}

// Every event of the daemon's stream is handled.
func TestEveryEventIsHandled(t *testing.T) {
	js := read(t, "app.js")
	src, err := os.ReadFile("../api/events.go")
	if err != nil {
		t.Fatal(err)
	}
	names := found(`(?m)^\tEvent\w+ += "([a-z_.]+)"`, string(src))
	if len(names) < 20 {
		t.Fatalf("events.go has the events %v", names)
	}
	for _, name := range names {
		if !strings.Contains(js, "\n  \""+name+"\"(a, d) {") {
			t.Errorf("no handler for %s", name)
		}
	}
	own := found(`yield \["([a-z_.]+)"`, read(t, "stream.js"))
	if len(own) != 2 {
		t.Errorf("stream.js has the events %v of its own", own)
	}
	for _, name := range own {
		if !strings.Contains(js, "\n  \""+name+"\"(a) {") {
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
	names = append(names, below...)
	var routes []string
	for _, name := range names {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		routes = append(routes, found(`Path: +"/(api/[^"]+)"`, string(src))...)
	}
	for i, r := range routes {
		routes[i] = regexp.MustCompile(`\{\w+\}`).ReplaceAllString(r, "*")
	}
	asked := found("[\"`](api/[^\"`?]*)", scripts(t))
	for _, a := range asked {
		a = regexp.MustCompile(`\$\{what\}$`).ReplaceAllString(a, "")
		a = regexp.MustCompile(`\$\{[^}]*\}`).ReplaceAllString(a, "*")
		if !slices.Contains(routes, a) {
			t.Errorf("the page asks for %s; the daemon has %v", a, routes)
		}
	}
	if len(asked) < 12 {
		t.Errorf("found only %v", asked)
	}
}

func TestIDs(t *testing.T) {
	ids := found(`\sid="([^"]+)"`, read(t, "index.html"))
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			t.Errorf("two elements are called %s", id)
		}
	}
	used := append(found(`\$\("([^"]+)"\)`, scripts(t)), found(`(?:for|aria-controls|aria-describedby|aria-labelledby)="([^"]+)"`, read(t, "index.html"))...)
	for _, id := range used {
		if !slices.Contains(ids, id) {
			t.Errorf("%q is used and not there", id)
		}
	}
}

// Everything that can be filled in or pressed has a name for those who do not see it.
func TestControlsHaveNames(t *testing.T) {
	html := read(t, "index.html")
	labelled := found(`<label [^>]*for="([^"]+)"`, html)
	for _, m := range regexp.MustCompile(`<(input|textarea|select)\s([^>]*)>`).FindAllStringSubmatch(html, -1) {
		id := found(`id="([^"]+)"`, m[2])
		if len(id) != 1 || !slices.Contains(labelled, id[0]) {
			t.Errorf("no label for <%s %s>", m[1], m[2])
		}
	}
	for _, attrs := range found(`<button ([^>]*)>`, html) {
		// The language button gets its text from the script.
		if !strings.Contains(attrs, "data-t") && !strings.Contains(attrs, `id="language"`) {
			t.Errorf("a button without a name: %s", attrs)
		}
		if !strings.Contains(attrs, `type="`) {
			t.Errorf("a button without a type: %s", attrs)
		}
	}
}

var entry = regexp.MustCompile(`^  (\w+): \["((?:[^"\\]|\\.)+)", "((?:[^"\\]|\\.)+)"\],$`)

// Every text exists in both languages, with the same places to fill in, and
// every text that is used exists.
func TestWords(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(read(t, "words.js")), "\n")
	known := map[string]bool{}
	for _, line := range lines[2 : len(lines)-1] {
		m := entry.FindStringSubmatch(line)
		if m == nil {
			t.Errorf("not a pair of texts: %s", line)
			continue
		}
		if known[m[1]] {
			t.Errorf("%s stands there twice", m[1])
		}
		known[m[1]] = true
		if !regexp.MustCompile(`\p{Han}`).MatchString(m[3]) && m[3] != m[2] || regexp.MustCompile(`\p{Han}`).MatchString(m[2]) {
			t.Errorf("%s: %q and %q are not English and Chinese", m[1], m[2], m[3])
		}
		en, zh := found(`\{(\w+)\}`, m[2]), found(`\{(\w+)\}`, m[3])
		slices.Sort(en)
		slices.Sort(zh)
		if !slices.Equal(en, zh) {
			t.Errorf("%s fills in %v in English and %v in Chinese", m[1], en, zh)
		}
	}
	js := scripts(t)
	used := append(found(`\bt\("(\w+)"`, js), found(`data-t(?:-label|-placeholder)?="(\w+)"`, read(t, "index.html"))...)
	for _, c := range regexp.MustCompile(`\bt\([^()]*\? "(\w+)" : "(\w+)"`).FindAllStringSubmatch(js, -1) {
		used = append(used, c[1], c[2])
	}
	for _, key := range used {
		if !known[key] {
			t.Errorf("the text %s is used and not there", key)
		}
	}
	for key := range known {
		family, _, _ := strings.Cut(key, "_")
		if !slices.Contains(used, key) && !strings.Contains(js, "t(`"+family+"_${") {
			t.Errorf("the text %s is not used", key)
		}
	}
}

// Every state of a plugin has a name, and one that does not work says why and
// what to do; one in quarantine can be tried again.
func TestStatesOfPlugins(t *testing.T) {
	words, js := read(t, "words.js"), read(t, "plugins.js")
	for _, state := range []string{"ready", "waiting", "refused", "disabled", "quarantined"} {
		if !strings.Contains(words, "\n  state_"+state+": [") {
			t.Errorf("the state %s has no name", state)
		}
	}
	if got := found(`stopped = \[([^\]]*)\]`, js); !slices.Equal(got, []string{`"refused", "disabled", "quarantined"`}) || !strings.Contains(js, "stopped.includes(p.state) ? el(\"p\", {}, p.why) : null") || !strings.Contains(js, "stopped.includes(p.state) && p.fix ?") {
		t.Errorf("the list does not say why, and what to do, of %v", got)
	}
	if !strings.Contains(js, `p.state === "quarantined"`) || !strings.Contains(js, `path(this.name, "/retry")`) {
		t.Error("a plugin in quarantine cannot be tried again")
	}
}

// Every reason for which a model's call cannot be used is said in words.
func TestReasonsOfMalformedCalls(t *testing.T) {
	src, err := os.ReadFile("../../../agent/parse/parse.go")
	if err != nil {
		t.Fatal(err)
	}
	reasons := found(`(?m)\bReason\w+ +Reason = "(\w+)"`, string(src))
	if len(reasons) < 6 {
		t.Fatalf("found only %v", reasons)
	}
	words := read(t, "words.js")
	for _, r := range reasons {
		if !strings.Contains(words, "\n  malformed_"+r+": [") {
			t.Errorf("the reason %s has no text", r)
		}
	}
}

// Enter must not send while an input method composes.
func TestInputMethodIsRespected(t *testing.T) {
	js := read(t, "app.js")
	for _, s := range []string{"e.isComposing", "e.keyCode === 229"} {
		if !strings.Contains(js, s) {
			t.Errorf("app.js does not look at %s", s)
		}
	}
}

func TestStyleServesEverybody(t *testing.T) {
	css := read(t, "style.css")
	for _, s := range []string{"prefers-color-scheme: dark", "prefers-reduced-motion: reduce", ":focus-visible"} {
		if !strings.Contains(css, s) {
			t.Errorf("style.css has no %s", s)
		}
	}
}
