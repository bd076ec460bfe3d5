package quote_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent/internal/quote"
	"github.com/weirhost/weir/sdk/tool"
)

// BenchmarkRead reads the calls in texts of 32 KiB: pages about calls with many examples,
// code, and a log. The tools are those that they name, or others.
func BenchmarkRead(b *testing.B) {
	read := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			b.Fatal(err)
		}
		return strings.Repeat(string(text), 1+(32<<10)/len(text))[:32<<10]
	}
	params := json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"},"pattern":{"type":"string"},"file_path":{"type":"string"}}}`)
	specs := func(names ...string) (out []tool.Spec) {
		for _, name := range names {
			out = append(out, tool.Spec{Name: name, Params: params})
		}
		return out
	}
	for name, text := range map[string]string{"page": read("../../../docs/calls.md"), "code": read("../../parse/formats_test.go"), "log": strings.Repeat("2026-11-23 20:14:01 INFO request served path=/index.html status=200\n", 480)} {
		for _, named := range []bool{false, true} {
			list := specs("convert_units", "fetch_url", "now")
			if named {
				list = specs("get_weather", "grep_search", "read_file", "request")
			}
			tools := toolsOf(list)
			b.Run(name+map[bool]string{true: "/named", false: "/others"}[named], func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					var c quote.Calls
					c.Read([]string{text}, tools, nil)
				}
			})
		}
	}
}
