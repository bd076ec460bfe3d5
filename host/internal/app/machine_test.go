package app

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/weirhost/weir/host/daemon/api"
)

// The examination is that of weir doctor, with this daemon.
func TestDoctorOverTheAPI(t *testing.T) {
	p := openPatched(t, someTools)
	p.Address(p.url, "serve")
	var report api.HealthReport
	status, _, text := p.do("GET", "/api/doctor", "", "")
	if err := json.Unmarshal([]byte(text), &report); err != nil || status != 200 {
		t.Fatalf("%d %s", status, text)
	}
	areas, failed := map[string]string{}, false
	for _, f := range report.Findings {
		areas[f.Area] = f.Status
		failed = failed || f.Status == "fail"
		if f.What.IsZero() {
			t.Errorf("%+v", f)
		}
	}
	for _, area := range []string{"config", "daemon", "port", "plugins", "model", "clock"} {
		if areas[area] == "" {
			t.Errorf("nothing is said of %s: %v", area, areas)
		}
	}
	if areas["daemon"] != "ok" || report.OK == failed || !strings.Contains(text, p.url) || strings.Contains(text, "very-secret") || strings.Contains(text, p.Token) {
		t.Errorf("%s", text)
	}
}

// Two examinations do not run at once.
func TestDoctorsTakeTurns(t *testing.T) {
	p := openPatched(t, someTools)
	var all sync.WaitGroup
	statuses := make([]int, 4)
	for i := range statuses {
		all.Go(func() { statuses[i], _, _ = p.do("GET", "/api/doctor", "", "") })
	}
	all.Wait()
	done := 0
	for _, s := range statuses {
		if s == 200 {
			done++
		} else if s != 409 {
			t.Errorf("status %d", s)
		}
	}
	if done == 0 {
		t.Error("no examination ran")
	}
}

// Each client's set-up has this machine's paths, and the token only on demand.
func TestMCPConfigs(t *testing.T) {
	p := openPatched(t, someTools)
	p.Address(p.url, "serve")
	var out api.MCPConfigs
	status, h, text := p.do("GET", "/api/mcp/config", "", "")
	if err := json.Unmarshal([]byte(text), &out); err != nil || status != 200 || out.URL != p.url+"/mcp" || len(out.Clients) < 5 || h.Get("Cache-Control") != "no-store" {
		t.Fatalf("%d %s", status, text)
	}
	if strings.Contains(text, p.Token) {
		t.Error("the token is shown unasked")
	}
	for _, c := range out.Clients {
		if !strings.Contains(string(c.Stdio), p.file) || !strings.Contains(string(c.Stdio), filepath.Dir(p.file)) || c.After.IsZero() || !strings.Contains(c.Command, "weir mcp install "+strings.TrimSuffix(c.Client, "-code")) {
			t.Errorf("%+v", c)
		}
		if http := string(c.HTTP); (c.Client == "claude-desktop") != (http == "null") || http != "null" && !strings.Contains(http, "Bearer TOKEN") {
			t.Errorf("%s: %s", c.Client, http)
		}
	}
	if status, _, text := p.do("GET", "/api/mcp/config?token=true", "", ""); status != 200 || !strings.Contains(text, "Bearer "+p.Token) {
		t.Errorf("on demand: %d %s", status, text)
	}
	if status, _, text := p.do("GET", "/api/mcp/config?token=please", "", ""); status != 400 {
		t.Errorf("%d %s", status, text)
	}
}
