package conform

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/plugintest"
	"github.com/weirhost/weir/internal/testsize"
)

// badCalls are arguments that a tool refuses, beside those of the shipped cases.
var badCalls = map[string][]string{
	"calculator":           {`expression = "1 / 0"`, `expression = "(1 + 2"`, `expression = "2 $ 3"`, `expression = "sqrt(0-1)"`, `expression = "10^10^10"`, `expression = "nosuch(3)"`, `expression = "1/3"`, `expression = "round(1, 2, 3)"`, `expression = ""`},
	"current_time":         {`zone = "Atlantis"`, `at = "half past"`, `until = "2027-02-06"`},
	"database":             {`file_path = "notes.txt", sql = "SELECT 1"`, `file_path = "nosuch.db"`},
	"query_csv":            {`csv = "a,b", file_path = "x"`, `sql = "SELECT 1"`, `csv = "a,b\n1,2", sql = "DROP TABLE data"`, `csv = "a,b\n1,2", sql = "SELECT nosuch FROM data"`, `csv = "a,b\n1,2", delimiter = "ab"`, `csv = "a\n1", sql = "SELECT a FROM data", offset = 9`},
	"fetch_url":            {`url = "ftp://x"`, `url = "https://u:p@example.com/"`, `url = "https://nosuch.example.org/"`},
	"get_repo_structure":   {`path = "nosuch"`, `path = "notes.txt"`, `max_depth = 99`},
	"grep_search":          {`pattern = "("`, `pattern = "x", path = "nosuch"`, `pattern = "x", glob = "[z-a]"`, `pattern = "e", offset = 999`, `pattern = ""`},
	"http_request":         {`url = "https://api.example.com/", method = "GET", body = "b"`, `url = "https://u:p@api.example.com/"`, `url = "https://api.example.com/", json = {}, body = "b"`},
	"image_gen":            {`prompt = " "`, `prompt = "x", size = "large"`},
	"json_query":           {`filter = ".["`, `filter = ".", json = "{"`, `filter = "."`, `filter = ".", json = "1", file_path = "notes.txt"`, `filter = ".", file_path = "notes.txt"`, `filter = "empty", json = "1"`, `filter = ".", json = "1", offset = 5`, `filter = ".a", json = "1"`},
	"long_text":            {`lines = 0`, `lines = -1`},
	"read_data_from_excel": {`filepath = "notes.txt"`, `filepath = "nosuch.xlsx"`, `filepath = "notes.txt", start_cell = "?"`},
	"read_file":            {`file_path = "nosuch.txt"`, `file_path = "/etc/passwd"`, `file_path = "../x"`, `file_path = "."`, `file_path = "notes.txt", start_line = 99`, `file_path = "notes.txt", start_line = 3, end_line = 2`, `file_path = "empty.txt"`, `file_path = "pic.png"`, `nosuch = 1`},
	"repo_map":             {`repo_path = "nosuch"`, `repo_path = "."`},
	"search_web":           {`query = "x", mode = "slow"`, `query = ""`},
	"search_wikipedia":     {`query = "x", title = "y"`, `query = ""`, `query = "x", lang = "?!"`, `query = "x", limit = 99`},
	"text_diff":            {`old_text = "a", new_text = "a"`, `old_text = "a"`, `old_path = "nosuch", new_text = "a"`, `old_path = "pic.png", new_text = "a"`, `old_path = "x", old_text = "y", new_text = "z"`},
}

const badFiles = `locale = "zh"
[files]
"notes.txt" = "one\ntwo\nthree\n"
"empty.txt" = ""
"pic.png"   = { base64 = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==" }
`

// allowed are texts that no wording of ours replaces.
var allowed = []*regexp.Regexp{
	regexp.MustCompile(`^weir plugin `),                                              // a command to type
	regexp.MustCompile(`^gate \w+ at the`),                                           // the text that long_text makes
	regexp.MustCompile(`^No newline at end of file`),                                 // a mark of the diff format
	regexp.MustCompile(`looking for beginning of value|^expected an object but got`), // encoding/json, gojq
}

// english is a run of Latin words, as a sentence has.
var english = regexp.MustCompile(`\b[A-Za-z]+'?[a-z]*(?: [A-Za-z][a-z']*){3,}`)

// TestShippedInChinese runs the cases of every shipped plugin, and calls that it
// refuses, in a Chinese conversation: nothing that the model reads is a sentence in
// English unless the arguments, the files or the answers of the web have it.
func TestShippedInChinese(t *testing.T) {
	plugins := filepath.Join(guesttest.Root(t), "plugins")
	manifests, err := filepath.Glob(filepath.Join(plugins, "*", "plugin.toml"))
	if err != nil || len(manifests) < 15 {
		t.Fatalf("%d plugins were found: %v", len(manifests), err)
	}
	calls := 0
	for _, m := range manifests {
		name := filepath.Base(filepath.Dir(m))
		t.Run(name, func(t *testing.T) {
			large(t, name)
			dir := filepath.Join(guesttest.Shipped(t, name), name)
			known := chineseCases(t, filepath.Join(plugins, name), dir)
			r, err := plugintest.Run(t.Context(), dir, plugintest.Config{CacheDir: guesttest.Cache(t), FuzzCalls: -1})
			if err != nil || len(r.Problems) > 0 {
				t.Fatal(r.Problems, err)
			}
			for _, o := range r.Outcomes {
				calls += o.Calls
				for _, s := range english.FindAllString(o.Shown, -1) {
					if !strings.Contains(known, s) && !slices.ContainsFunc(allowed, func(f *regexp.Regexp) bool { return f.MatchString(s) }) {
						t.Errorf("%s says %q in\n%.1000s", o.Name, s, o.Shown)
					}
				}
			}
		})
	}
	if calls < testsize.Of(130, 150) {
		t.Errorf("only %d calls ran", calls)
	}
}

// chineseCases writes the cases of a plugin in Chinese to dir, and returns their text.
func chineseCases(t *testing.T, from, dir string) (known string) {
	t.Helper()
	to := filepath.Join(dir, plugintest.CaseDir)
	if err := os.CopyFS(to, os.DirFS(filepath.Join(from, plugintest.CaseDir))); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(to, "*.toml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		known += string(text)
		write(t, file, "locale = \"zh\"\n"+string(text))
	}
	source, err := os.ReadFile(filepath.Join(from, "plugin.toml"))
	if err != nil {
		t.Fatal(err)
	}
	known += string(source) // its examples
	for tool, calls := range badCalls {
		if !strings.Contains(string(source), "\nname           = \""+tool+"\"") {
			continue
		}
		text := badFiles
		for _, args := range calls {
			text += "\n[[case]]\nname = '" + strings.ReplaceAll(args, "'", "") + "'\ntool = \"" + tool + "\"\nargs = { " + args + " }\nexpect = {}\n"
		}
		known += text
		write(t, filepath.Join(to, "bad_"+tool+".toml"), text)
	}
	return known
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
