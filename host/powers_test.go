package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirhost/weir/host/internal/egress"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/plugin"
)

func rule(t *testing.T, s string) egress.Rule {
	t.Helper()
	r, err := egress.ParseRule(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestGrantedHosts(t *testing.T) {
	tests := []struct {
		asked   string
		granted []plugin.HostGrant
		allowed string // the rules in force; empty: it waits
		private string
	}{
		{"api.x.com", []plugin.HostGrant{{Host: "api.x.com"}}, "api.x.com", ""},
		{"api.x.com", nil, "", ""},
		{"api.x.com", []plugin.HostGrant{{Host: "x.com"}}, "", ""},                                                           // the parent is another host
		{"api.x.com", []plugin.HostGrant{{Host: "*.x.com"}}, "api.x.com", ""},                                                // a wider grant gives what is asked
		{"*.x.com", []plugin.HostGrant{{Host: "api.x.com"}}, "api.x.com", ""},                                                // a narrower grant gives itself
		{"*", []plugin.HostGrant{{Host: "a.com"}, {Host: "b.com:8443"}}, "a.com", ""},                                        // "*" means port 443
		{"*:*", []plugin.HostGrant{{Host: "a.com"}, {Host: "b.com:8443"}}, "a.com b.com:8443", ""},                           // every port
		{"api.x.com", []plugin.HostGrant{{Host: "http://api.x.com"}}, "", ""},                                                // another scheme
		{"api.x.com:444", []plugin.HostGrant{{Host: "api.x.com"}}, "", ""},                                                   // another port
		{"*", []plugin.HostGrant{{Host: "*"}}, "*", ""},                                                                      // everything, if the operator says so
		{"http://localhost:3000", []plugin.HostGrant{{Host: "http://localhost:3000"}}, "http://localhost:3000", "localhost"}, // speaks for itself
		{"10.0.0.7", []plugin.HostGrant{{Host: "10.0.0.7"}}, "10.0.0.7", "10.0.0.7"},
		{"wiki.corp", []plugin.HostGrant{{Host: "wiki.corp"}}, "wiki.corp", ""}, // a name may lie about where it is
		{"wiki.corp", []plugin.HostGrant{{Host: "wiki.corp", Private: true}}, "wiki.corp", "wiki.corp"},
		{"*", []plugin.HostGrant{{Host: "*", Private: false}}, "*", ""},
	}
	for _, tt := range tests {
		var b bargain
		rules, private := b.hosts([]registry.HostAsk{{Rule: rule(t, tt.asked)}}, tt.granted)
		var got []string
		for _, r := range rules {
			got = append(got, r.String())
		}
		if strings.Join(got, " ") != tt.allowed || strings.Join(private, " ") != tt.private || (len(b.lacks) == 0) != (tt.allowed != "") {
			t.Errorf("%s under %v: %v, private %v, lacks %v", tt.asked, tt.granted, got, private, b.lacks)
		}
	}
}

// What is asked for every host is asked for as much as the operator gives.
func TestPartOfEverything(t *testing.T) {
	for _, tt := range []struct {
		asked   []string
		granted string
		waits   bool
	}{
		{[]string{"*", "http://*"}, "go.dev", false},
		{[]string{"http://*", "*"}, "*", false}, // whichever comes first
		{[]string{"*", "http://*"}, "http://intranet.x.com", false},
		{[]string{"*", "http://*"}, "", true},
		{[]string{"*", "api.x.com"}, "go.dev", true}, // a host asked for by name is needed
		{[]string{"a.x.com", "b.x.com"}, "a.x.com", true},
	} {
		var b bargain
		var asks []registry.HostAsk
		for _, a := range tt.asked {
			asks = append(asks, registry.HostAsk{Rule: rule(t, a)})
		}
		var grants []plugin.HostGrant
		if tt.granted != "" {
			grants = []plugin.HostGrant{{Host: tt.granted}}
		}
		b.hosts(asks, grants)
		if (len(b.lacks) > 0) != tt.waits {
			t.Errorf("%v under %q: %v", tt.asked, tt.granted, b.lacks)
		}
	}
}

func TestWaiting(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	asks := registry.Asks{
		Paths:   []registry.PathAsk{{Guest: "/workspace", Reason: "reads files"}, {Guest: "/out", Write: true}},
		Hosts:   []registry.HostAsk{{Rule: rule(t, "api.x.com")}},
		Secrets: []registry.SecretAsk{{Name: "KEY", Header: "Authorization", Format: "Bearer {}", Host: "api.x.com"}},
	}
	full := plugin.Grant{
		Paths:   []plugin.PathGrant{{Guest: "/workspace", Host: dir}, {Guest: "/out", Host: dir, Mode: "rw"}},
		Hosts:   []plugin.HostGrant{{Host: "api.x.com"}},
		Secrets: []string{"KEY"},
	}
	with := func(change func(*plugin.Grant)) plugin.Grant {
		g := full
		g.Paths = append([]plugin.PathGrant(nil), full.Paths...)
		change(&g)
		return g
	}
	key := func(name string) (string, bool) { return "sesame-sesame", name == "KEY" }
	tests := []struct {
		name   string
		grant  plugin.Grant
		secret func(string) (string, bool)
		why    string // empty: ready
		fix    string
	}{
		{"all granted", full, key, "", ""},
		{"nothing granted", plugin.Grant{}, key, `it asks for the folder /workspace (ro) ("reads files") and is not granted it (and 3 more)`,
			`in tools.toml, below [grants.p], write: paths = [{ guest = "/workspace", host = "a folder of yours", mode = "ro" }, { guest = "/out", host = "a folder of yours", mode = "rw" }] and hosts = ["api.x.com"] and secrets = ["KEY"]`},
		{"no such folder", with(func(g *plugin.Grant) { g.Paths[0].Host = filepath.Join(dir, "gone") }), key,
			fmt.Sprintf("the folder granted as /workspace, %q, does not exist", filepath.Join(dir, "gone")), "make the folder, or grant another one"},
		{"a file", with(func(g *plugin.Grant) { g.Paths[0].Host = file }), key,
			fmt.Sprintf("the folder granted as /workspace, %q, is not a folder", file), "make the folder, or grant another one"},
		{"the secret is not granted", with(func(g *plugin.Grant) { g.Secrets = nil }), key,
			"it asks for the secret KEY, to be sent to api.x.com, and is not granted it", `in tools.toml, below [grants.p], write: secrets = ["KEY"]`},
		{"the secret is not set", full, func(string) (string, bool) { return "", false },
			"the secret KEY is not set", "set KEY in the environment, or in the file .env beside tools.toml (mode 0600), and start again"},
		{"there are no secrets", full, nil, "the secret KEY is not set", "set KEY in the environment, or in the file .env beside tools.toml (mode 0600), and start again"},
		{"a grant that is no host", with(func(g *plugin.Grant) { g.Hosts = append([]plugin.HostGrant{{Host: "ftp://x"}}, g.Hosts...) }), key,
			`its grant names host rule "ftp://x": the scheme must be https or http`, "correct the grant"},
		{"a secret only goes to a host that is granted by name", with(func(g *plugin.Grant) { g.Hosts = []plugin.HostGrant{{Host: "*"}} }), key, "", ""},
	}
	for _, tt := range tests {
		b := Config{Secret: tt.secret}.strike(asks, tt.grant)
		why, fix := "", ""
		if len(b.lacks) > 0 {
			why, fix = b.why(), b.fix("p")
		}
		if !strings.HasPrefix(why, tt.why) || tt.why == "" && why != "" || fix != tt.fix {
			t.Errorf("%s:\n%s\n%s", tt.name, why, fix)
		}
	}
	b := Config{Secret: key}.strike(asks, full)
	if len(b.grant.Mounts) != 2 || b.grant.Mounts[0].Write || !b.grant.Mounts[1].Write || b.grant.HTTP == nil {
		t.Errorf("%+v", b.grant)
	}
}

func TestASecretIsNotForEverybody(t *testing.T) {
	asks := registry.Asks{
		Hosts:   []registry.HostAsk{{Rule: rule(t, "*")}},
		Secrets: []registry.SecretAsk{{Name: "KEY", Header: "Authorization", Host: "evil.example"}},
	}
	b := Config{Secret: func(string) (string, bool) { return "sesame-sesame", true }}.strike(asks, plugin.Grant{Hosts: []plugin.HostGrant{{Host: "*"}}, Secrets: []string{"KEY"}})
	if len(b.lacks) == 0 || !strings.Contains(b.why(), "evil.example, which is not granted by name") {
		t.Errorf("a grant of every host is no grant of the secret: %v", b.lacks)
	}
}

func TestWriteNeedsBothWords(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct {
		ask  bool
		mode string
		want bool
	}{{true, "rw", true}, {true, "ro", false}, {true, "", false}, {false, "rw", false}} {
		b := Config{}.strike(registry.Asks{Paths: []registry.PathAsk{{Guest: "/w", Write: tt.ask}}}, plugin.Grant{Paths: []plugin.PathGrant{{Guest: "/w", Host: dir, Mode: tt.mode}}})
		if len(b.grant.Mounts) != 1 || b.grant.Mounts[0].Write != tt.want {
			t.Errorf("asked %v, granted %q: %+v", tt.ask, tt.mode, b.grant.Mounts)
		}
	}
}
