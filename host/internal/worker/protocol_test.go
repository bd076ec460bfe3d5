//go:build linux

package worker

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weirhost/weir/host/internal/frames"
	"github.com/weirhost/weir/sdk/tool"
)

// The small part of a call survives packing and unpacking.
func TestCallMetaSurvivesPacking(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "run", "weir.locale", strings.Repeat("long", 10_000)}))
	rapid.Check(t, func(t *rapid.T) {
		m := callMeta{
			Export: text.Draw(t, "export"), MaxChars: rapid.Int().Draw(t, "chars"), MaxLines: rapid.Int().Draw(t, "lines"), MaxOutput: rapid.Int().Draw(t, "output"),
			HTTP: rapid.Bool().Draw(t, "http"), Progress: rapid.Bool().Draw(t, "progress"), MCP: rapid.Bool().Draw(t, "mcp"), NewThread: rapid.Bool().Draw(t, "thread"),
		}
		if c := rapid.MapOfN(text, text, 0, 5).Draw(t, "config"); len(c) > 0 {
			m.Config = c
		}
		b := m.Pack(nil)
		var got callMeta
		if err := got.unpack(b); err != nil || !cmp.Equal(m, got) {
			t.Fatalf("%+v came back as %+v, %v", m, got, err)
		}
		cut := rapid.IntRange(0, len(b)-1).Draw(t, "cut")
		if got.unpack(b[:cut]) == nil || got.unpack(append(b, 0)) == nil {
			t.Fatalf("%d of %d bytes, or one more, are taken for a call", cut, len(b))
		}
	})
}

// FuzzFrames reads arbitrary bytes of a child: nothing is allocated beyond the limits,
// and every frame obeys them.
func FuzzFrames(f *testing.F) {
	for _, k := range []frames.Kind{kindResult, kindLog, kindRequest, 0, 255} {
		var b bytes.Buffer
		_ = frames.NewWriter(&b).Write(k, &resultMeta{Memory: 1, Error: metaOfFailure(tool.Errorf(tool.Failed, "try", "no"))}, []byte("output"))
		f.Add(b.Bytes())
	}
	f.Add([]byte{byte(kindResult), 255, 255, 255, 255, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, text []byte) {
		allowed := fromChild(1000, false)
		r := frames.NewReader(bytes.NewReader(text))
		for {
			got, err := r.Read(&allowed, nil)
			if err != nil {
				return
			}
			within(t, got, &allowed)
			var m resultMeta
			if m.unpack(got.Meta) != nil {
				continue
			}
			var again resultMeta
			if err := again.unpack(m.Pack(nil)); err != nil || !cmp.Equal(m, again) {
				t.Fatalf("%+v comes back as %+v, %v", m, again, err)
			}
		}
	})
}

// within fails for a frame that exceeds the limits.
func within(t *testing.T, f frames.Frame, allowed *frames.Limits) {
	t.Helper()
	most := allowed[f.Kind]
	if most.Meta == 0 || len(f.Meta) == 0 || len(f.Meta) > most.Meta || len(f.Data) > most.Data {
		t.Fatalf("kind %d with %d and %d bytes came through", f.Kind, len(f.Meta), len(f.Data))
	}
}
