//go:build linux

package worker

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/weirhost/weir/host/internal/answer"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/host/internal/wasmtest"
	"github.com/weirhost/weir/sdk/tool"
)

// A guest's JSON is decoded in its worker: what comes from there has the flat form, and
// means the same.
func TestNoJSONOfAGuestReachesTheParent(t *testing.T) {
	m := load(t, newPool(t, nil), sandbox.Plugin{Name: "p", Wasm: wasmtest.Echo("run")})
	for _, said := range []string{
		`{"content":[{"type":"text","text":"a"}]}`,
		`{"content":[{"type":"image","data":"AQID","name":"x.png"},{"text":"b"}],"structuredContent":{"a":[1]},"sources":[{"url":"u"}],"more":{"shown":1,"total":2,"args":{"n":1}}}`,
		`{"isError":true,"error":{"code":"denied","message":"no"}}`, "no JSON", " ", strings.Repeat("[", 100_000),
	} {
		out, fail := m.Call(t.Context(), sandbox.Invocation{Export: "run", Input: []byte(said), MCP: true, MaxOutput: answer.MaxMCP + 1})
		if fail != nil || out.Flat == out.Text {
			t.Errorf("%.60s: flat is %t, a text %t, %v", said, out.Flat, out.Text, fail)
		}
		want, got := answer.DecodeMCP([]byte(said), tool.Zh), answer.Decode(out.Bytes, out.Text, out.Flat, tool.Zh)
		want.RawSize, got.RawSize = 0, 0
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmp.Comparer(func(a, b tool.Text) bool { return a.String() == b.String() })); d != "" {
			t.Errorf("%.60s: %s", said, d)
		}
	}
}
