// Package rules holds the rules of the house as tests: who may import whom,
// and what every file owes its reader. The files are parsed, not listed by a
// child process, so that the test cache sees every edit.
package rules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/weirhost/weir"

// maxLines is how long a file may be.
const maxLines = 700

// levels gives every package its level; imports point strictly downward. A
// package takes the level of its longest prefix here.
var levels = map[string]int{
	"internal/testtime":              0,
	"internal/testsize":              0,
	"sdk/tool":                       0,
	"sdk":                            1,
	"sdk/limit":                      1,
	"sdk/limit/internal":             0,
	"sdk/limit/internal/marks":       0,
	"sdk/limit/internal/evalkeep":    2,
	"agent/parse":                    1,
	"agent/internal/recall":          1,
	"agent/internal/tokens":          0,
	"agent/internal/schematype":      0,
	"agent/internal/tsdecl":          1,
	"agent/internal/prompt":          3,
	"agent/internal/quote":           2,
	"agent/parse/correction":         2,
	"agent/toolsearch":               4,
	"host/internal/dotenv":           2,
	"agent/parse/eval":               2,
	"agent/parse/internal/evalparse": 3,
	"sdk/guest":                      2,
	"sdk/js":                         2,
	"host/plugin":                    1,
	"host/approval":                  3,
	"host/internal/scriptvm":         3,
	"host/internal/scriptproc":       5,
	"host/script":                    10,
	"host/script/journal":            3,
	"host/internal/installkey":       3,
	"host/script/offer":              11,
	"host/script/named":              4,
	"host/internal/wasmcheck":        1,
	"host/internal/memsnap":          2,
	"host/internal/instrument":       2,
	"host/internal/postgres":         1,
	"host/internal/sqlite":           2,
	"host/internal/snippet":          1,
	"host/archive":                   3,
	"host/daemon/store":              4,
	"host/internal/wasmtest":         1,
	"host/internal/egress":           2,
	"host/internal/framing":          1,
	"host/internal/describe":         2,
	"host/internal/modindex":         2,
	"host/internal/jail":             2,
	"host/internal/tomlpos":          2,
	"host/internal/msg":              1,
	"host/internal/toolchain":        1,
	"host/internal/panics":           0,
	"host/internal/jsonscan":         1,
	"host/internal/packed":           0,
	"host/internal/lines":            0,
	"host/internal/linediff":         0,
	"host/internal/frames":           1,
	"host/internal/confine":          1,
	"host/internal/quarantine":       2,
	"host/internal/pipe":             1,
	"host/internal/plugindir":        2,
	"host/internal/watch":            3,
	"host/internal/otlp":             2,
	"host/internal/sandbox":          3,
	"agent":                          4,
	"host/internal/lockfile":         3,
	"host/internal/registry":         4,
	"host/internal/within":           3,
	"host/internal/schema":           3,
	"host/internal/grant":            5,
	"host/internal/catalog":          6,
	"host/internal/mcpclient":        4,
	"host/internal/worker":           4,
	"host/internal/worker/child":     10,
	"host/internal/judge":            5,
	"host/internal/memtrim":          0,
	"host/internal/atomicfile":       0,
	"host/internal/sched":            4,
	"host/internal/version":          0,
	"host/internal/exprcost":         0,
	"host/internal/text":             2,
	"host/internal/toolname":         2,
	"host/internal/bounds":           3,
	"host/internal/callargs":         3,
	"host/internal/answer":           3,
	"host/internal/history":          5,
	"host/internal/memory":           5,
	"host/internal/runner":           6,
	"host/internal/upstream":         7,
	"host/internal/snapshot":         8,
	"host/internal/hostile":          10,
	"host/internal/soak":             10,
	"host/internal/toolindex":        2,
	"host/internal/changes":          2,
	"host/internal/vector":           1,
	"host/internal/toolmeta":         3,
	"host/internal/tooluse":          1,
	"host/internal/toolfind":         4,
	"host/internal/signal":           0,
	"host/internal/conform":          10,
	"agent/passthrough":              5,
	"agent/model":                    6,
	"agent/model/provider":           7,
	"host":                           9,
	"host/plugintest":                10,
	"host/internal/author":           10,
	"host/daemon/web":                5,
	"host/daemon/web/bundle":         20,
	"host/daemon":                    12,
	"host/daemon/client":             13,
	"host/internal/term":             2,
	"host/internal/chat":             14,
	"host/internal/plugincmd":        15,
	"host/internal/scriptcmd":        15,
	"host/internal/backup":           15,
	"host/internal/mcpbridge":        3,
	"host/internal/clientfile":       4,
	"host/internal/serverjson":       4,
	"host/internal/doctor":           15,
	"host/internal/modelcmd":         17,
	"host/internal/storecmd":         17,
	"host/cmd/weir":                  20,
	"host/bench/internal/cputime":    1,
	"host/bench/mcp":                 20,
	"host/bench/context":             20,
	"host/bench/engine":              20,
	"host/bench/loop":                20,
	"host/bench/results":             20,
	"host/bench/pass":                20,
	"plugins":                        20,
	"examples":                       21,
	"host/internal/jsonedit":         2,
	"host/internal/config":           14,
	"host/internal/config/value":     2,
	"host/internal/app":              16,
	"host/internal/settingkeys":      15,
	"host/internal/tomledit":         3,
	"host/internal/declared":         15,

	"host/plugintest/internal/generate":         1,
	"host/internal/toolindex/internal/evalfind": 3,
}

// both lists the packages that may import the host and the agent.
var both = []string{"host/daemon", "host/internal/config", "host/internal/declared", "host/internal/app", "host/internal/chat", "host/internal/plugincmd", "host/internal/modelcmd", "host/internal/doctor", "host/cmd/weir", "host/bench/context", "host/bench/loop", "examples"}

// allowed lists the third-party modules a package may import, each with the
// reason. A package takes every entry whose path is a prefix of its own.
var allowed = map[string]map[string]string{
	"": {},
	"sdk/limit": {
		"github.com/clipperhouse/uax29/v2": "grapheme clusters by the current Unicode tables",
		"github.com/charmbracelet/x/ansi":  "terminal escapes, all of them",
	},
	"agent/model": {
		"github.com/openai/openai-go/v3": "the protocol of every compatible server",
		"github.com/cenkalti/backoff/v5": "retries with backoff",
		"go.opentelemetry.io/otel":       "the trace that a request carries to a server",
		"github.com/tidwall/sjson":       "a member into a body that is JSON already, as the libraries of the protocols do it",
	},
	"agent/model/internal/modeltest": {"pgregory.net/rapid": "generated requests, by which each protocol is judged"},
	"agent/passthrough": {
		"github.com/tidwall/gjson": "members of messages and chunks, without decoding the rest",
		"github.com/tidwall/sjson": "one member of a message exchanged, the rest to the byte as the client sent it",
	},
	"agent/model/anthropic": {"github.com/anthropics/anthropic-sdk-go": "Anthropic's own protocol, by those who make it"},
	"host": {
		"github.com/hashicorp/go-hclog": "the log",
		"github.com/extism/go-pdk":      "a test guest as strangers write them",
	},
	"host/script": {
		"github.com/google/uuid": "ids of stored scripts",
	},
	"host/internal/postgres": {
		"github.com/jackc/pgx/v5": "the second database",
	},
	"host/internal/sqlite": {
		"modernc.org/sqlite":          "the database, without cgo",
		"github.com/pressly/goose/v3": "migrations",
	},
	"host/archive": {
		"github.com/klauspost/compress": "s2 for texts at rest",
		"github.com/google/uuid":        "ids of archived results",
	},
	"host/internal/sandbox": {
		"github.com/extism/go-sdk":      "the one door to Wasm",
		"github.com/tetratelabs/wazero": "the one door to Wasm",
	},
	"host/internal/memsnap": {
		"golang.org/x/sys": "memory maps and their requests",
	},
	"host/internal/confine": {
		"golang.org/x/sys":                    "system call filters, capabilities and limits",
		"github.com/landlock-lsm/go-landlock": "the kernel's wall around folders, in all threads",
	},
	"host/internal/frames": {
		"golang.org/x/sys": "pipes of the kernel",
	},
	"host/internal/worker": {
		"golang.org/x/sys": "system calls of hardened processes",
	},
	"host/internal/plugindir": {"golang.org/x/sys": "exchanges of folders in a test"},
	"host/internal/within":    {"golang.org/x/sys": "exchanges of files in a test"},
	"host/internal/jail": {
		"github.com/tetratelabs/wazero": "its file system interface, which the jail implements; no engine",
		"golang.org/x/sys":              "opening a folder by a path without links",
	},
	"host/internal/watch": {
		"github.com/fsnotify/fsnotify": "the system's word that a file has changed, where it gives one",
	},
	"host/internal/msg": {"github.com/BurntSushi/toml": "translations, as translators edit them"},
	"host/internal/term": {
		"github.com/charmbracelet/x/ansi": "how wide a text is on a terminal",
		"golang.org/x/term":               "how wide the terminal is",
	},
	"host/daemon/client":    {"github.com/gofrs/flock": "one process per data folder"},
	"host/internal/tomlpos": {"github.com/BurntSushi/toml": "the library whose silence about places it makes up for"},
	"host/internal/chat": {
		"github.com/charmbracelet/x/ansi": "how wide a text is on a terminal",
		"github.com/peterh/liner":         "lines that a person edits, with history, in which Chinese takes two columns",
	},
	"host/internal/mcpclient": {
		"golang.org/x/time/rate":                 "how many messages that answer nothing are read of a server",
		"github.com/modelcontextprotocol/go-sdk": "the protocol of other tool servers, by those who write it",
		"github.com/cenkalti/backoff/v5":         "pauses between tries to reach a server",
		"go.opentelemetry.io/otel":               "the trace that a call hands on",
	},
	"host/internal/snapshot":  {"golang.org/x/time": "a tool's calls per minute"},
	"host/internal/toolindex": {"github.com/kljensen/snowball": "the stems of English words"},
	"host/internal/schema":    {"github.com/santhosh-tekuri/jsonschema/v6": "a tool's parameters are checked by their JSON Schema"},
	"host/internal/registry": {
		"github.com/BurntSushi/toml":               "manifests",
		"github.com/santhosh-tekuri/jsonschema/v6": "decodes JSON as the schema's validator needs it",
	},
	"host/daemon/archives": {"golang.org/x/image": "whether a part is a picture in WebP"},
	"host/daemon": {
		"github.com/google/uuid":              "ids of conversations",
		"github.com/prometheus/client_golang": "counters for /metrics, on a registry of its own",
		"go.opentelemetry.io/otel":            "spans, behind an interface that does nothing unless it is configured",
	},
	"host/internal/otlp": {
		"go.opentelemetry.io/otel":       "the interface that it stands behind",
		"github.com/cenkalti/backoff/v5": "repeats when a collector is busy",
	},
	"host/daemon/web/bundle": {"github.com/evanw/esbuild": "builds the page; no other program contains it"},
	"host/internal/jsonedit": {"github.com/tailscale/hujson": "other programs' JSON with comments, changed in one place"},
	"host/internal/app": {
		"github.com/gofrs/flock":           "one process per data folder",
		"github.com/coreos/go-systemd/v22": "the states that systemd expects: ready, reloading, stopping",
	},
	"host/internal/config": {"github.com/BurntSushi/toml": "tools.toml"},
	"host/internal/scriptvm": {
		"github.com/tetratelabs/wazero": "runs QuickJS, which is trusted, with scripts, which are not",
		"github.com/klauspost/compress": "the memory of a script that waits",
	},
	"host/internal/scriptproc":  {"github.com/hashicorp/go-hclog": "the log of what goes wrong with processes"},
	"host/script/named":         {"github.com/BurntSushi/toml": "the manifest in a script's first comment"},
	"host/internal/settingkeys": {"github.com/BurntSushi/toml": "which types of settings read themselves"},
	"host/daemon/mcpserver": {
		"github.com/modelcontextprotocol/go-sdk": "the protocol, by those who write it",
	},
	"host/cmd/weir": {
		"github.com/spf13/cobra":           "the command line",
		"github.com/spf13/pflag":           "its flags, whose texts are put into Chinese",
		"github.com/BurntSushi/toml":       "tools.toml",
		"github.com/coreos/go-systemd/v22": "readiness, reload and stop, told to systemd",
	},
	"host/internal/linediff": {"github.com/aymanbagabas/go-udiff": "the lines in which two texts differ"},
	"host/plugintest": {
		"github.com/BurntSushi/toml":       "cases",
		"github.com/aymanbagabas/go-udiff": "a golden file and the text that came",
	},
	"host/bench/engine": {
		"github.com/extism/go-sdk":      "what it measures against",
		"github.com/tetratelabs/wazero": "the settings of what it measures against",
	},
	"host/bench/results":           {"modernc.org/sqlite": "the database alone, beside which it measures"},
	"host/bench/loop":              {"go.opentelemetry.io/otel": "the tracer, whose cost it measures"},
	"plugins/read_data_from_excel": {"github.com/xuri/excelize/v2": "xlsx, inside the guest"},
	"plugins/database": {
		"github.com/ncruces/go-sqlite3": "SQLite without cgo, inside the guest",
		"golang.org/x/text":             "CSV files in Chinese encodings",
	},
	"plugins/text_diff":  {"github.com/aymanbagabas/go-udiff": "the difference of two texts, inside the guest"},
	"plugins/json_query": {"github.com/itchyny/gojq": "jq, inside the guest"},
	"plugins/fetch_url": {
		"github.com/JohannesKaufmann/html-to-markdown/v2": "pages to Markdown, inside the guest",
		"golang.org/x/text": "pages in GBK and other old encodings",
	},
}

// testOnly may be imported by any test.
var testOnly = []string{
	"github.com/google/go-cmp", "pgregory.net/rapid", "go.uber.org/goleak", "github.com/rogpeppe/go-internal",
	"github.com/anishathalye/porcupine",        // to hold what clients see of a register against its model
	"github.com/modelcontextprotocol/go-sdk",   // servers to be a client of
	"github.com/tiktoken-go/tokenizer",         // to hold our estimate against
	"github.com/santhosh-tekuri/jsonschema/v6", // to hold answers against their description
	"go.opentelemetry.io/proto/otlp",           // to hold what is sent to collectors against its description
	"google.golang.org/protobuf",
}

// file is one Go file of the project.
type file struct {
	path, pkg string // slashes, relative to the root
	test      bool
	ast       *ast.File
	fset      *token.FileSet
	lines     int
}

func TestRules(t *testing.T) {
	files := load(t)
	if len(files) < 50 {
		t.Fatalf("only %d files were found: the walk is broken", len(files))
	}
	t.Run("imports", func(t *testing.T) { checkImports(t, files) })
	t.Run("comments", func(t *testing.T) { checkPackageComments(t, files) })
	t.Run("lengths", func(t *testing.T) { checkLengths(t, files) })
	t.Run("exits", func(t *testing.T) { checkExits(t, files) })
	t.Run("alone", func(t *testing.T) { checkAlone(t, files) })
	t.Run("names", func(t *testing.T) { checkNames(t, files) })
	t.Run("waits", func(t *testing.T) { checkWaits(t, files) })
	t.Run("patterns", func(t *testing.T) { checkPatterns(t, files) })
	t.Run("circles", func(t *testing.T) { checkCircles(t, files) })
}

func load(t *testing.T) []file {
	t.Helper()
	var files []file
	fset := token.NewFileSet()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); path != "." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "build" || name == "bin" || name == "node_modules") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(fset, path, src, parser.ParseComments)
		if err != nil {
			return err
		}
		path = filepath.ToSlash(path)
		files = append(files, file{path, dir(path), strings.HasSuffix(path, "_test.go"), f, fset, strings.Count(string(src), "\n")})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func dir(path string) string {
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		return path[:i]
	}
	return ""
}

// level finds a package's level by its longest known prefix; -1: none.
func level(pkg string) (int, string) {
	for p := pkg; p != "" && p != "."; p = dir(p) {
		if l, ok := levels[p]; ok {
			return l, p
		}
	}
	return -1, ""
}

// A row of the table without use is wrong and must go.
func checkImports(t *testing.T, files []file) {
	used := map[string]bool{}
	defer func() {
		for p, modules := range allowed {
			for m := range modules {
				if !used[p+" "+m] {
					t.Errorf("%s may import %s and does not; drop the row", p, m)
				}
			}
		}
	}()
	for _, f := range files {
		if f.pkg == "" {
			continue // this file
		}
		own, family := level(f.pkg)
		if own < 0 {
			t.Errorf("%s: the package %s has no level; add it to the table", f.path, f.pkg)
			continue
		}
		for _, imp := range f.ast.Imports {
			path := strings.Trim(imp.Path.Value, `"`)
			switch {
			case path == module || strings.HasPrefix(path, module+"/"):
				checkOwn(t, f, own, family, strings.TrimPrefix(path, module+"/"))
			case strings.Contains(strings.SplitN(path, "/", 2)[0], "."):
				checkForeign(t, f, path, used)
			}
		}
	}
}

func checkOwn(t *testing.T, f file, own int, family, imported string) {
	l, other := level(imported)
	if l < 0 {
		t.Errorf("%s imports %s, which has no level", f.path, imported)
		return
	}
	// A family is one house: provider imports openai, tests import their own package.
	if l >= own && other != family && !f.test {
		t.Errorf("%s (level %d) imports %s (level %d): imports point strictly downward", f.path, own, imported, l)
	}
	if f.test || slices.ContainsFunc(both, func(p string) bool { return f.pkg == p || strings.HasPrefix(f.pkg, p+"/") }) {
		return
	}
	half := func(pkg string) string { return strings.SplitN(pkg, "/", 2)[0] }
	if a, b := half(f.pkg), half(imported); (a == "host" && b == "agent") || (a == "agent" && b == "host") {
		t.Errorf("%s imports %s: only the daemon and the binary know both halves", f.path, imported)
	}
}

func checkForeign(t *testing.T, f file, path string, used map[string]bool) {
	in := func(m string) bool { return path == m || strings.HasPrefix(path, m+"/") }
	if f.test && slices.ContainsFunc(testOnly, in) {
		return
	}
	for p := f.pkg; ; p = dir(p) {
		for m := range allowed[p] {
			if in(m) {
				used[p+" "+m] = true
				return
			}
		}
		if p == "" {
			break
		}
	}
	if f.test && usesTestWasm(f.pkg) && in("github.com/tetratelabs/wazero") {
		return
	}
	t.Errorf("%s imports %s, which the table does not allow for %s", f.path, path, f.pkg)
}

// usesTestWasm lists packages whose tests may look at Wasm directly.
func usesTestWasm(pkg string) bool {
	return strings.HasPrefix(pkg, "host/internal/") || pkg == "sdk/guest" || pkg == "host"
}

func checkPackageComments(t *testing.T, files []file) {
	documented, where := map[string]bool{}, map[string]string{}
	for _, f := range files {
		if f.test {
			continue
		}
		where[f.pkg] = f.path
		if f.ast.Doc != nil && len(f.ast.Doc.Text()) > 20 {
			documented[f.pkg] = true
		}
	}
	for pkg, path := range where {
		if !documented[pkg] {
			t.Errorf("%s: the package %s has no package comment", path, pkg)
		}
	}
}

func checkLengths(t *testing.T, files []file) {
	for _, f := range files {
		if f.lines > maxLines {
			t.Errorf("%s has %d lines; %d is the most", f.path, f.lines, maxLines)
		}
	}
}

// checkNames holds the program to calling no methods by names that only come at
// run time, as templates do. Where anything might, the linker keeps every method of
// every type: the binary is half as large again then, and each process takes 10 MiB
// more.
func checkNames(t *testing.T, files []file) {
	names := []string{"MethodByName", "SetUsageTemplate", "SetHelpTemplate", "SetVersionTemplate"}
	for _, f := range files {
		if f.test {
			continue
		}
		for _, i := range f.ast.Imports {
			if path := strings.Trim(i.Path.Value, `"`); path == "text/template" || path == "html/template" {
				t.Errorf("%s imports %s, which calls methods by name", f.path, path)
			}
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && slices.Contains(names, s.Sel.Name) {
				t.Errorf("%s uses %s, which calls methods by name", f.path, s.Sel.Name)
			}
			return true
		})
	}
}

// checkPatterns checks that no regular expression is compiled while the program
// starts: every worker is a start, and together they took 2 ms and 1 MiB.
func checkPatterns(t *testing.T, files []file) {
	for _, f := range files {
		other := strings.HasPrefix(f.pkg, "host/bench/") // no process of weir's
		if f.test || other || !slices.Contains([]string{"agent", "host", "sdk"}, strings.SplitN(f.pkg, "/", 2)[0]) {
			continue
		}
		for _, d := range f.ast.Decls {
			if v, ok := d.(*ast.GenDecl); !ok || v.Tok != token.VAR {
				continue
			}
			ast.Inspect(d, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "MustCompile" {
					t.Errorf("%s compiles an expression while the program starts; let sync.OnceValue do it", f.path)
				}
				_, later := n.(*ast.FuncLit)
				return !later
			})
		}
	}
}

// checkAlone holds the packages that the Makefile keeps from the race detector to
// having no use for it: those whose tests run without it, and those that are built
// without it for the tests of all others.
func checkAlone(t *testing.T, files []file) {
	for _, pattern := range listed(t, "ALONE") {
		startNothing(t, pattern, files)
	}
	code := slices.DeleteFunc(slices.Clone(files), func(f file) bool { return f.test })
	for _, pattern := range listed(t, "UNWATCHED") {
		startNothing(t, pattern, code)
	}
	unwatchedTests(t, files)
	for variable, pkg := range map[string]string{"SHARED_HOST": "host", "SHARED_DAEMON": "host/daemon", "SHARED_SCRIPT": "host/script", "SHARED_SANDBOX": "host/internal/sandbox"} {
		sharedTests(t, variable, pkg, files)
	}
}

// sharedTests checks that each alternative in a pattern of the tests that make test watches
// is in the name of a test of the package.
func sharedTests(t *testing.T, variable, pkg string, files []file) {
	t.Helper()
	var tests []string
	for _, f := range files {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && f.test && f.pkg == pkg && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") {
				tests = append(tests, fn.Name.Name)
			}
		}
	}
	pattern := strings.ReplaceAll(strings.Join(listed(t, variable), " "), "$$", "$")
	head, names, grouped := strings.Cut(strings.TrimSuffix(pattern, ")"), "(")
	if !grouped {
		head, names = "", pattern
	}
	for name := range strings.SplitSeq(names, "|") {
		if re := regexp.MustCompile(head + name); !slices.ContainsFunc(tests, re.MatchString) {
			t.Errorf("%s of the Makefile has %s, and no test of %s has such a name", variable, name, pkg)
		}
	}
}

// unwatchedTests checks that the tests that the Makefile names for a run without the race
// detector are there, and start no goroutine.
func unwatchedTests(t *testing.T, files []file) {
	tests, again := map[string]*ast.FuncDecl{}, map[string]bool{} // again: in another package, where nothing would run it
	for _, f := range files {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && f.test && fn.Recv == nil {
				again[fn.Name.Name] = tests[fn.Name.Name] != nil
				tests[fn.Name.Name] = fn
			}
		}
	}
	for _, name := range strings.FieldsFunc(listed(t, "LAWS")[0], func(r rune) bool { return strings.ContainsRune("^(|)$", r) }) {
		fn := tests[name]
		if fn == nil || again[name] {
			t.Errorf("the Makefile names the test %s, of which there is not one", name)
			continue
		}
		ast.Inspect(fn, func(n ast.Node) bool {
			call, ok := n.(*ast.SelectorExpr)
			if _, starts := n.(*ast.GoStmt); starts || ok && call.Sel.Name == "Go" {
				t.Errorf("%s starts a goroutine, and is not watched by the race detector", name)
			}
			return true
		})
	}
}

// listed are the packages in a variable of the Makefile.
func listed(t *testing.T, variable string) []string {
	t.Helper()
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^` + variable + ` *= (.+)$`).FindSubmatch(makefile)
	if line == nil {
		t.Fatalf("the Makefile has no line %s = …", variable)
	}
	return strings.Fields(string(line[1]))
}

// startNothing checks that no file of the packages has anything to do with
// goroutines.
func startNothing(t *testing.T, pattern string, files []file) {
	folder, below := strings.CutSuffix(strings.TrimPrefix(strings.TrimPrefix(pattern, "./"), module+"/"), "/...")
	folder = strings.TrimPrefix(folder, ".") // the root
	found := false
	for _, f := range files {
		if f.pkg != folder && !(below && strings.HasPrefix(f.pkg, folder+"/")) {
			continue
		}
		found = true
		for _, i := range f.ast.Imports {
			if path := strings.Trim(i.Path.Value, `"`); path == "sync" || path == "sync/atomic" || path == "golang.org/x/sync/errgroup" {
				t.Errorf("%s imports %s, and is not watched by the race detector", f.path, path)
			}
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if _, ok := n.(*ast.GoStmt); ok {
				t.Errorf("%s starts a goroutine, and is not watched by the race detector", f.path)
			}
			return true
		})
	}
	if !found {
		t.Errorf("%s: no such packages", pattern)
	}
}

// checkExits allows the end of the process in main only, and no init.
func checkExits(t *testing.T, files []file) {
	for _, f := range files {
		if f.test {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Name.Name == "init" && n.Recv == nil {
					t.Errorf("%s has an init function", f.path)
				}
				return n.Name.Name != "main" // main may exit
			case *ast.CallExpr:
				sel, ok := n.Fun.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if x, ok := sel.X.(*ast.Ident); ok && (x.Name == "os" && sel.Sel.Name == "Exit" || x.Name == "log" && strings.HasPrefix(sel.Sel.Name, "Fatal")) {
					t.Errorf("%s calls %s.%s outside main", f.path, x.Name, sel.Sel.Name)
				}
			}
			return true
		})
	}
}
