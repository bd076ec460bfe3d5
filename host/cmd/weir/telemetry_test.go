package main

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	wire "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/weirhost/weir/host/internal/term"
)

// A collector keeps the spans that are sent to it over the protocol.
type collector struct {
	url      string
	mu       sync.Mutex
	all      []*wire.Span
	raw      bytes.Buffer
	resource map[string]string // the resource
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{resource: map[string]string{}}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
		var m wire.TracesData
		if err := protojson.Unmarshal(body, &m); err != nil {
			t.Errorf("%v: %s", err, body)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.raw.Write(body)
		for _, rs := range m.GetResourceSpans() {
			for _, a := range rs.GetResource().GetAttributes() {
				c.resource[a.GetKey()] = a.GetValue().GetStringValue()
			}
			for _, ss := range rs.GetScopeSpans() {
				c.all = append(c.all, ss.GetSpans()...)
			}
		}
	}))
	t.Cleanup(srv.Close)
	c.url = srv.URL
	return c
}

func (c *collector) names() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for _, s := range c.all {
		out = append(out, s.GetName())
	}
	return out
}

// runWith runs the command line in this process with an environment of its own.
func runWith(t *testing.T, vars map[string]string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, term.Env{In: strings.NewReader(""), Out: &out, Err: &errs, Lookup: func(name string) (string, bool) { v, ok := vars[name]; return v, ok }})
	return code, out.String(), errs.String()
}

// A question's spans reach a collector that the environment names, or the file,
// and nothing of what was said is in them.
func TestSpansReachACollector(t *testing.T) {
	models := modelServer(t)
	dir := t.TempDir()
	config := filepath.Join(dir, "tools.toml")
	for _, row := range []struct {
		name, file string
		env        func(*collector) map[string]string
		service    string
	}{
		{"by the environment", "", func(c *collector) map[string]string {
			return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": c.url + "/", "OTEL_SERVICE_NAME": "mine", "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment=test,service.name=no"}
		}, "mine"},
		{"by the file", "[telemetry]\nendpoint = \"${WHERE}\"\nservice_name = \"named\"\n", func(c *collector) map[string]string {
			return map[string]string{"WHERE": c.url}
		}, "named"},
	} {
		c := newCollector(t)
		file := row.file + "[models.m]\nprovider = \"vllm\"\nbase_url = \"" + models + "\"\nmodel = \"good\"\n[agent]\nmodel = \"m\"\n"
		if err := os.WriteFile(config, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, _, said := runWith(t, row.env(c), "--config", config, "--data", filepath.Join(dir, row.service), "ask", "Geheim?"); code != 0 {
			t.Fatalf("%s: exit %d: %s", row.name, code, said)
		}
		if names := c.names(); !slices.Equal(names, []string{"chat good", "invoke_agent default"}) {
			t.Errorf("%s: %v", row.name, names)
		}
		if c.resource["service.name"] != row.service || c.resource["service.version"] == "" || strings.Contains(c.raw.String(), "Geheim") {
			t.Errorf("%s: of %v\n%s", row.name, c.resource, c.raw.String())
		}
	}
	c := newCollector(t)
	for _, off := range []map[string]string{{}, {"OTEL_SDK_DISABLED": "true"}, {"OTEL_TRACES_EXPORTER": "none"}} {
		vars := maps.Clone(off)
		if len(off) > 0 {
			vars["OTEL_EXPORTER_OTLP_ENDPOINT"] = c.url
		}
		if err := os.WriteFile(config, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if code, _, said := runWith(t, vars, "--config", config, "--data", filepath.Join(dir, "off"), "ask", "hello"); code != 0 || len(c.names()) > 0 {
			t.Errorf("%v: exit %d, %v: %s", off, code, c.names(), said)
		}
	}
}
