package rules

import (
	"os"
	"strings"
	"testing"
)

// TestServiceUnit holds packaging/weir.service to what weir needs of systemd:
// without these a reload ends the daemon, a stop ends tools before their
// answers, or nothing can be compiled.
func TestServiceUnit(t *testing.T) {
	raw, err := os.ReadFile("packaging/weir.service")
	if err != nil {
		t.Fatal(err)
	}
	set, section := map[string]string{}, ""
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '[' && strings.HasSuffix(line, "]"):
			section = line
		default:
			key, value, ok := strings.Cut(line, "=")
			if _, twice := set[section+key]; !ok || twice || section == "" {
				t.Errorf("not a setting, or one twice: %q", line)
			}
			set[section+key] = value
		}
	}
	for key, want := range map[string]string{
		"Type": "notify", "ExecReload": "/bin/kill -HUP $MAINPID", "KillMode": "mixed", "OOMPolicy": "continue", "NoNewPrivileges": "yes", "User": "weir",
	} {
		if got := set["[Service]"+key]; got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if _, there := set["[Service]MemoryDenyWriteExecute"]; there {
		t.Error("tools are compiled to machine code, which MemoryDenyWriteExecute forbids")
	}
	if !strings.HasPrefix(set["[Service]ExecStart"], "/usr/local/bin/weir serve ") {
		t.Errorf("ExecStart is %q", set["[Service]ExecStart"])
	}
}
