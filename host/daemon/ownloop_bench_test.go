package daemon

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/guesttest"
)

// BenchmarkPassed is one request of a session that goes on: through weir, with what is stored and
// without, and directly to the model's server. Its p50 says what weir adds.
func BenchmarkPassed(b *testing.B) {
	for _, size := range []int{70_000, 1_000_000} {
		for _, way := range []string{"direct", "store=false", "stored"} {
			b.Run(fmt.Sprintf("%dkB/%s", size/1000, way), func(b *testing.B) { benchPassed(b, size, way) })
		}
	}
}

func benchPassed(b *testing.B, size int, way string) {
	u := newUpstream(b, func(w http.ResponseWriter, _ int, _ string) { chunks(w, textChunk, endChunk, usageChunk) })
	h, err := host.Open(b.Context(), host.Config{Settings: host.Settings{Archive: archive.Config{Path: filepath.Join(b.TempDir(), "archive.db")}}, CacheDir: guesttest.Cache(b), Version: "0.1.0"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = h.Close() })
	d, err := New(Config{
		Host: h, Token: testToken, Version: "test", Models: map[string]Model{"own": {Model: replay.New()}},
		Profiles: map[string]Profile{"default": {Model: "own", Agent: agent.Defaults()}},
	})
	if err != nil {
		b.Fatal(err)
	}
	if err := passTo(d, ownModel(b, u)); err != nil {
		b.Fatal(err)
	}
	srv := httptest.NewServer(d.Handler())
	b.Cleanup(srv.Close)
	url, store := srv.URL, ""
	switch way {
	case "direct":
		url = u.URL
	case "store=false":
		store = `,"store":false`
	}
	var messages strings.Builder
	messages.WriteString(`{"role":"system","content":"An agent."}`)
	for n := 0; messages.Len() < size; n++ {
		fmt.Fprintf(&messages, `,{"role":"user","content":"question %d"},{"role":"assistant","content":"answer %d"},{"role":"user","content":"%s"}`, n, n, strings.Repeat("a line of a file\\n", 120))
	}
	var took []time.Duration
	for n := range b.N + 1 {
		body := []byte(`{"model":"own","stream":true,"messages":[` + messages.String() + fmt.Sprintf(`,{"role":"user","content":"and %d?"}]`, n) + store + `}`)
		began := time.Now()
		req, err := http.NewRequestWithContext(b.Context(), "POST", url+"/v1/chat/completions", bytes.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+testToken)
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		if answer, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != 200 || !strings.Contains(string(answer), "Hi") {
			b.Fatalf("%d %v %s", resp.StatusCode, err, answer)
		}
		resp.Body.Close()
		if n > 0 { // the first one stores the history
			took = append(took, time.Since(began))
		}
		fmt.Fprintf(&messages, `,{"role":"user","content":"and %d?"},{"role":"assistant","content":"Hi"}`, n)
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
}
