package conform

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/weirhost/weir/sdk/tool"
)

// A vector is one call and what must come of it.
type vector struct {
	name string
	args string
	host settings
	want want
}

// settings are what the operator says. It is comparable, so that vectors with
// the same settings share a host.
type settings struct {
	MaxChars int         `json:"max_chars"`
	MaxLines int         `json:"max_lines"`
	Locale   tool.Locale `json:"locale"`
	Network  bool        `json:"network"`
	Config   struct {
		Greeting string `json:"greeting"`
	} `json:"config"`
}

// want is what must come out. An error that is missing is a success.
type want struct {
	Text   string `json:"text"`
	Repeat string `json:"repeat"` // Count times instead of Text
	// Incomplete: the text is more than the host keeps. It begins with Repeat, Count
	// times; a last character that is cut is missing.
	Incomplete bool          `json:"incomplete"`
	Count      int           `json:"count"`
	Sources    []tool.Source `json:"sources"`
	More       *tool.More    `json:"more"`
	Entries    *tool.Entries `json:"entries"`
	Parts      []tool.Blob   `json:"parts"`
	Log        string        `json:"log"` // a warning that holds it
	Progress   []progress    `json:"progress"`
	Error      *struct {
		Code    tool.Code `json:"code"`
		Message string    `json:"message"`  // empty: any
		Hint    string    `json:"hint"`     // empty: any
		Names   string    `json:"names"`    // the message names this argument
		HasHint bool      `json:"has_hint"` // there is some hint
	} `json:"error"`
}

type progress struct {
	Done    int    `json:"done"`
	Total   int    `json:"total"`
	Message string `json:"message"`
}

var long = regexp.MustCompile(`\{\{(\d+)\}\}`)

// load reads all vectors, with the server's address put in.
func load(t *testing.T, dir, server string) []vector {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatal("there are no vectors: ", err)
	}
	var out []vector
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range parse(t, txtar.Parse(data)) {
			v.name = strings.TrimSuffix(filepath.Base(file), ".txtar") + "/" + v.name
			v.args = strings.ReplaceAll(v.args, "{{server}}", server)
			v.args = long.ReplaceAllStringFunc(v.args, func(s string) string {
				n, _ := strconv.Atoi(strings.Trim(s, "{}"))
				return strings.Repeat("x", n)
			})
			out = append(out, v)
		}
	}
	return out
}

func parse(t *testing.T, a *txtar.Archive) []vector {
	t.Helper()
	var out []vector
	for _, f := range a.Files {
		name, kind := path.Split(f.Name)
		name = strings.TrimSuffix(name, "/")
		at := slices.IndexFunc(out, func(v vector) bool { return v.name == name })
		if at < 0 {
			out, at = append(out, vector{name: name}), len(out)
		}
		switch kind {
		case "args.json":
			out[at].args = string(f.Data)
		case "host.json":
			decode(t, f, &out[at].host)
		case "want.json":
			decode(t, f, &out[at].want)
		default:
			t.Fatalf("%s is no file of a vector", f.Name)
		}
	}
	return out
}

func decode(t *testing.T, f txtar.File, into any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(f.Data)))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		t.Fatalf("%s: %v", f.Name, err)
	}
}
