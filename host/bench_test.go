package host

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/weirhost/weir/sdk/tool"
)

// A call of a Go guest from arguments to result: a short answer, one that is
// cut and archived, and one from the archive.
func BenchmarkCall(b *testing.B) {
	for _, spares := range []int{0, 2} {
		h := open(b, drop(b, "probe"), func(c *Config) { c.Sandbox.Spares = spares })
		s := h.Session("me", "c1")
		run := func(name, args string) func(*testing.B) {
			return func(b *testing.B) {
				for b.Loop() {
					r, err := s.Call(b.Context(), tool.Call{Tool: name, Args: json.RawMessage(args)})
					if err != nil || r.Err != nil {
						b.Fatal(err, r.Err)
					}
				}
			}
		}
		r, err := s.Call(b.Context(), tool.Call{Tool: "bare", Args: json.RawMessage(`{"Lines":1000,"Width":50}`)})
		if err != nil || r.Err != nil {
			b.Fatal(err, r.Err)
		}
		b.Run(fmt.Sprintf("short/spares=%d", spares), run("count", `{}`))
		b.Run(fmt.Sprintf("archived50k/spares=%d", spares), run("bare", `{"Lines":1000,"Width":50}`))
		b.Run(fmt.Sprintf("load/spares=%d", spares), run(tool.LoadHistory, fmt.Sprintf(`{"uuid":%q,"lines":"500-510"}`, r.Ref.UUID)))
	}
}

func BenchmarkReload(b *testing.B) {
	h := open(b, drop(b, "probe", "notes"), nil)
	for b.Loop() {
		if _, err := h.Reload(b.Context(), ReloadOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

// A call and a look at the tools with one plugin and with many.
func BenchmarkInstalled(b *testing.B) {
	for _, n := range []int{1, 1000} {
		dir := b.TempDir()
		for i := range n {
			put(b, dir, fmt.Sprintf("p%d", i), generation(i))
		}
		h := open(b, dir, nil)
		s := h.Session("me", "c1")
		b.Run(fmt.Sprintf("call/plugins=%d", n), func(b *testing.B) {
			for b.Loop() {
				if r, err := s.Call(b.Context(), tool.Call{Tool: "p0"}); err != nil || r.Err != nil {
					b.Fatal(err, r.Err)
				}
			}
		})
		b.Run(fmt.Sprintf("tools/plugins=%d", n), func(b *testing.B) {
			for b.Loop() {
				if len(s.Tools()) < n {
					b.Fatal("tools are missing")
				}
			}
		})
	}
}
