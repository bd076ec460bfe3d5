package plugintest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirhost/weir/host/internal/wasmtest"
	"github.com/weirhost/weir/host/plugintest"
)

const echo = `schema = 1
name = "echo"
version = "1.0.0"
description = "Gives its arguments back"
[[tool]]
name = "echo"
description = "Gives its arguments back"
cache = { ttl = "1h" }
rate  = { per_minute = 1 }
examples = [{ ask = "say it", args = { text = "hello" } }]
[tool.output]
max_chars = 300
[tool.params]
type = "object"
[tool.params.properties.text]
type = "string"
`

// echoing writes a small plugin that compiles quickly.
func echoing(t *testing.T, cases string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "_echo") // a scan of its parent would ignore it
	for name, text := range map[string]string{"plugin.toml": echo, "echo.wasm": string(wasmtest.Echo("echo")), "tests/a.toml": cases} {
		if text == "" {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestMeasure: Measure makes every call although the tool's answers are cached and
// its rate is one a minute. Arguments come from the first case with a result.
func TestMeasure(t *testing.T) {
	f, err := plugintest.Measure(t.Context(), echoing(t, "[[case]]\nname = \"bad\"\nargs = { text = 7 }\nexpect = { error = \"bad_args\" }\n[[case]]\nname = \"good\"\nargs = { text = \""+strings.Repeat("a", 500)+"\" }\n"), 10, plugintest.Config{})
	if err != nil || len(f.Problems) > 0 || len(f.Tools) != 1 {
		t.Fatalf("%+v, %v", f, err)
	}
	one := f.Tools[0]
	if f.Plugin != "echo" || f.Bytes == 0 || f.Compile <= 0 || f.Load <= 0 || one.From != "a/good" || one.Calls != 11 || !one.Err.IsZero() {
		t.Errorf("%+v", f)
	}
	if one.WholeChars != 511 || one.WholeLines != 1 || one.ShownChars > 300 || one.P50 <= 0 || one.P99 < one.P50 {
		t.Errorf("%+v", one)
	}
	if f, err = plugintest.Measure(t.Context(), echoing(t, ""), 1, plugintest.Config{}); err != nil || f.Tools[0].From != "example" || f.Tools[0].WholeChars != 16 {
		t.Errorf("of an example: %+v, %v", f, err)
	}
	if f, err = plugintest.Measure(t.Context(), t.TempDir(), 1, plugintest.Config{}); err != nil || len(f.Problems) != 1 {
		t.Errorf("of an empty folder: %+v, %v", f, err)
	}
}
