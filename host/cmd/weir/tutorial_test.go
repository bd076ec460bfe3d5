package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/weirhost/weir/host/internal/guesttest"
)

// TestTutorial types what the tutorial says, in its order, and holds it to what
// it says is printed.
func TestTutorial(t *testing.T) {
	typed(t, scriptOf(page(t, "docs/tutorial.md")))
}

// TestReadme types what the READMEs say about a tool of one's own.
func TestReadme(t *testing.T) {
	for _, name := range []string{"README.md", "README.zh-CN.md"} {
		line := regexp.MustCompile("`(bin/weir plugin new [^`]+)`").FindStringSubmatch(page(t, name))
		if line == nil {
			t.Fatalf("%s does not say how to make a tool", name)
		}
		typed(t, "exec sh -c '"+strings.ReplaceAll(line[1], "bin/weir", "weir")+"'\nstdout '^ok +word_count: [1-9]'\n")
	}
}

// typed runs a script in a home of its own.
func typed(t *testing.T, script string) {
	t.Helper()
	goCache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "typed.txtar")
	if err := os.WriteFile(file, []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	program := ""
	if raced { // without the race detector, which finds nothing in commands that run one after the other
		program = unwatched(t)
	}
	testscript.Run(t, testscript.Params{
		Files: []string{file},
		Cmds:  map[string]func(*testscript.TestScript, bool, []string){"change": change},
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("GOCACHE", strings.TrimSpace(string(goCache)))
			e.Setenv("GOPROXY", "off")
			e.Setenv("WEIR_CACHE", guesttest.Cache(t))
			e.Setenv("WEIR_NO_PROBE", "1")
			if raced {
				e.Setenv("PATH", program+string(filepath.ListSeparator)+e.Getenv("PATH"))
			}
			return nil
		},
	})
}

// TestTutorialInChinese: the Chinese tutorial has the same commands, outputs and
// changes.
func TestTutorialInChinese(t *testing.T) {
	en, zh := blocks(page(t, "docs/tutorial.md")), blocks(page(t, "docs/tutorial.zh-CN.md"))
	if len(en) != len(zh) || len(en) < 8 {
		t.Fatalf("%d blocks in English, %d in Chinese", len(en), len(zh))
	}
	for i := range en {
		if en[i] != zh[i] {
			t.Errorf("block %d differs:\n%s\n%s", i+1, en[i].text, zh[i].text)
		}
	}
}

func page(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(guesttest.Root(t), name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A fenced is one fenced part of a page: the words after the fence, and the text.
type fenced struct{ info, text string }

var fence = regexp.MustCompile("(?ms)^```([^\n]+)\n(.*?)^```$")

func blocks(text string) (out []fenced) {
	for _, m := range fence.FindAllStringSubmatch(text, -1) {
		out = append(out, fenced{m[1], m[2]})
	}
	return out
}

// scriptOf makes a test script of a tutorial: commands with what they print, and
// changes of files.
func scriptOf(text string) string {
	var script, files strings.Builder
	for i, b := range blocks(text) {
		kind, where, _ := strings.Cut(b.info, " ")
		switch {
		case kind == "console":
			for command := range strings.SplitSeq(strings.TrimPrefix(b.text, "$ "), "\n$ ") {
				typed, printed, _ := strings.Cut(strings.TrimSuffix(command, "\n"), "\n")
				if dir, ok := strings.CutPrefix(typed, "cd "); ok {
					fmt.Fprintf(&script, "cd %s\n", dir)
					continue
				}
				not := ""
				if strings.Contains(printed, "FAIL ") {
					not = "! "
				}
				fmt.Fprintf(&script, "%sexec sh -c '%s'\n", not, strings.ReplaceAll(typed, "'", "''"))
				if printed != "" {
					fmt.Fprintf(&script, "stdout '%s'\n", strings.ReplaceAll(pattern(printed), "'", "''"))
				}
			}
		case strings.HasPrefix(where, "append="):
			fmt.Fprintf(&files, "-- change%d --\n%s", i, b.text)
			fmt.Fprintf(&script, "change %s $WORK/change%d\n", strings.TrimPrefix(where, "append="), i)
		case strings.HasPrefix(where, "insert="):
			fmt.Fprintf(&files, "-- change%d --\n%s", i, b.text)
			fmt.Fprintf(&script, "change %s $WORK/change%d 'return guest.Text(b.String()), nil'\n", strings.TrimPrefix(where, "insert="), i)
		}
	}
	return script.String() + files.String()
}

// change puts the second file's text into the first: above the line that is
// given, else at the end.
func change(ts *testscript.TestScript, _ bool, args []string) {
	text, more := ts.ReadFile(args[0]), ts.ReadFile(args[1])
	if len(args) < 3 {
		text += more
	} else if before, after, ok := strings.Cut(text, "\t"+args[2]); ok {
		text = before + more + "\t" + args[2] + after
	} else {
		ts.Fatalf("%s has no line %s", args[0], args[2])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o644))
}

var (
	varies = regexp.MustCompile(`\d+(?:\\\.\d+)? (?:ms|s|µs|MiB|KiB)\b|\d+(?:KiB|MiB)\b|[0-9a-f]{64}`)
	dots   = regexp.MustCompile(`(?m)^\\\.\\\.\\\.$`)
)

// pattern is an expression for what is printed: times, sizes and digests vary,
// and three dots on a line of their own match any lines.
func pattern(printed string) string {
	p := varies.ReplaceAllString(regexp.QuoteMeta(printed), `\S+( \S+)?`)
	return "(?s)^" + strings.ReplaceAll(dots.ReplaceAllString(p, `.*`), "\n", `\n`) + `\n?$`
}
