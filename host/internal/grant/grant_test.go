package grant

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weirhost/weir/host/internal/egress"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
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
		allowed string // the rules in force; empty: it is pending
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
		{"http://localhost:3000", []plugin.HostGrant{{Host: "http://localhost:3000"}}, "http://localhost:3000", "localhost"}, // its spelling says that it is private
		{"10.0.0.7", []plugin.HostGrant{{Host: "10.0.0.7"}}, "10.0.0.7", "10.0.0.7"},
		{"wiki.corp", []plugin.HostGrant{{Host: "wiki.corp"}}, "wiki.corp", ""}, // a name may lie about where it is
		{"wiki.corp", []plugin.HostGrant{{Host: "wiki.corp", Private: true}}, "wiki.corp", "wiki.corp"},
		{"*", []plugin.HostGrant{{Host: "*", Private: false}}, "*", ""},
	}
	for _, tt := range tests {
		b := Resolver{}.Resolve(registry.Asks{Hosts: []registry.HostAsk{{Rule: rule(t, tt.asked)}}}, plugin.Grant{Hosts: tt.granted})
		private := b.private
		var got []string
		for _, r := range b.rules {
			got = append(got, r.String())
		}
		if strings.Join(got, " ") != tt.allowed || strings.Join(private, " ") != tt.private || (len(b.Missing) == 0) != (tt.allowed != "") {
			t.Errorf("%s under %v: %v, private %v, missing %v", tt.asked, tt.granted, got, private, b.Missing)
		}
	}
}

// A plugin that asks for every host works with any granted part.
func TestPartOfEveryHost(t *testing.T) {
	for _, tt := range []struct {
		asked   []string
		granted string
		pending bool
	}{
		{[]string{"*", "http://*"}, "go.dev", false},
		{[]string{"http://*", "*"}, "*", false}, // whichever comes first
		{[]string{"*", "http://*"}, "http://intranet.x.com", false},
		{[]string{"*", "http://*"}, "", true},
		{[]string{"*", "api.x.com"}, "go.dev", true}, // a host asked for by name is needed
		{[]string{"a.x.com", "b.x.com"}, "a.x.com", true},
	} {
		var asks []registry.HostAsk
		for _, a := range tt.asked {
			asks = append(asks, registry.HostAsk{Rule: rule(t, a)})
		}
		var grants []plugin.HostGrant
		if tt.granted != "" {
			grants = []plugin.HostGrant{{Host: tt.granted}}
		}
		b := Resolver{}.Resolve(registry.Asks{Hosts: asks}, plugin.Grant{Hosts: grants})
		if (len(b.Missing) > 0) != tt.pending {
			t.Errorf("%v under %q: %v", tt.asked, tt.granted, b.Missing)
		}
	}
}

func TestMissing(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	asks := registry.Asks{
		Paths:   []registry.PathAsk{{Guest: "/workspace", Reason: tool.Text{Format: "reads files", Zh: "读取文件"}}, {Guest: "/out", Write: true}},
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
			"it asks for the secret KEY for api.x.com and is not granted it", `in tools.toml, below [grants.p], write: secrets = ["KEY"]`},
		{"the secret is not set", full, func(string) (string, bool) { return "", false },
			"the secret KEY is not set", "write KEY=… into the file .env beside tools.toml (mode 0600) and run `weir reload`, or set it in the environment and start again"},
		{"there are no secrets", full, nil, "the secret KEY is not set", "write KEY=… into the file .env beside tools.toml (mode 0600) and run `weir reload`, or set it in the environment and start again"},
		{"a grant that is no host", with(func(g *plugin.Grant) { g.Hosts = append([]plugin.HostGrant{{Host: "ftp://x"}}, g.Hosts...) }), key,
			`its grant names host rule "ftp://x": the scheme must be https or http`, "correct the grant"},
		{"a secret only goes to a host that is granted by name", with(func(g *plugin.Grant) { g.Hosts = []plugin.HostGrant{{Host: "*"}} }), key, "", ""},
	}
	for _, tt := range tests {
		b := Resolver{Secret: tt.secret}.Resolve(asks, tt.grant)
		why, fix := "", ""
		if len(b.Missing) > 0 {
			why, fix = b.Why().String(), b.Fix("p").String()
		}
		if !strings.HasPrefix(why, tt.why) || tt.why == "" && why != "" || fix != tt.fix {
			t.Errorf("%s:\n%s\n%s", tt.name, why, fix)
		}
	}
	if zh := msg.In(tool.Zh, Resolver{}.Resolve(asks, plugin.Grant{}).Why()); !strings.Contains(zh, `("读取文件")`) && !strings.Contains(zh, `（"读取文件"）`) || strings.Contains(zh, "reads") {
		t.Errorf("in Chinese: %s", zh)
	}
	b := Resolver{Secret: key}.Resolve(asks, full)
	if len(b.Permissions.Mounts) != 2 || b.Permissions.Mounts[0].Write || !b.Permissions.Mounts[1].Write || b.Permissions.HTTP == nil {
		t.Errorf("%+v", b.Permissions)
	}
}

func TestASecretNeedsANamedHost(t *testing.T) {
	asks := registry.Asks{
		Hosts:   []registry.HostAsk{{Rule: rule(t, "*")}},
		Secrets: []registry.SecretAsk{{Name: "KEY", Header: "Authorization", Host: "evil.example"}},
	}
	b := Resolver{Secret: func(string) (string, bool) { return "sesame-sesame", true }}.Resolve(asks, plugin.Grant{Hosts: []plugin.HostGrant{{Host: "*"}}, Secrets: []string{"KEY"}})
	if len(b.Missing) == 0 || !strings.Contains(b.Why().String(), "evil.example, which is not granted by name") {
		t.Errorf("a grant of every host is no grant of the secret: %v", b.Missing)
	}
}

func TestWritingNeedsAskAndGrant(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct {
		ask  bool
		mode string
		want bool
	}{{true, "rw", true}, {true, "ro", false}, {true, "", false}, {false, "rw", false}} {
		b := Resolver{}.Resolve(registry.Asks{Paths: []registry.PathAsk{{Guest: "/w", Write: tt.ask}}}, plugin.Grant{Paths: []plugin.PathGrant{{Guest: "/w", Host: dir, Mode: tt.mode}}})
		if len(b.Permissions.Mounts) != 1 || b.Permissions.Mounts[0].Write != tt.want {
			t.Errorf("asked %v, granted %q: %+v", tt.ask, tt.mode, b.Permissions.Mounts)
		}
	}
}

// What decides over plugins lies in no folder that one can write, by whatever path.
func TestAWritableFolderContainsNothingReserved(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"work/own", "work/notes", "elsewhere/own", "workshop"} {
		if err := os.MkdirAll(in(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"work/link": in("elsewhere"), "door": in("work")} {
		if err := os.Symlink(to, in(link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		granted, mode, reserved string
		want                    bool
	}{
		{"work", "rw", "work/own", false},
		{"work", "ro", "work/own", true},
		{"work", "rw", "work", false},
		{"work", "rw", "work/not/there/yet", false},
		{"work/notes", "rw", "work/own", true},
		{"work/own", "rw", "work", true}, // the sandbox hides what is inside
		{"door", "rw", "work/own", false},
		{"work", "rw", "door/own", false},
		{"work", "rw", "work/link/own", false}, // the link can be exchanged
		{"elsewhere", "rw", "work/link/own", false},
		{"elsewhere", "rw", "work/link/not/there", false},
		{"work", "rw", "workshop", true},
		{"workshop", "rw", "work/own", true},
	} {
		r := Resolver{Reserved: []string{in("other"), in(tt.reserved)}}.Resolve(registry.Asks{Paths: []registry.PathAsk{{Guest: "/w", Write: true}}},
			plugin.Grant{Paths: []plugin.PathGrant{{Guest: "/w", Host: in(tt.granted), Mode: tt.mode}}})
		if got := len(r.Missing) == 0; got != tt.want || got != (len(r.Permissions.Mounts) == 1) {
			t.Errorf("%+v: %s %+v", tt, r.Why(), r.Permissions.Mounts)
		}
		if !tt.want && !strings.Contains(r.Why().String(), "which decides what plugins may do") {
			t.Errorf("%+v: %s", tt, r.Why())
		}
	}
}

// Every kind of ask and of grant has a row: one that is added to the types alone is
// A folder is not granted over a link that a tool could have put there: the tool that may
// write in ws moved ws/sub away and a link of the project to its place.
func TestALinkInAWritableFolder(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, d := range []string{"ws/deep", "outside"} {
		if err := os.MkdirAll(at(d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"ws/sub": at("outside"), "ws/deep/rel": "../../outside", "mine": "ws", "twice": "ws/sub"} {
		if err := os.Symlink(target, at(link)); err != nil {
			t.Fatal(err)
		}
	}
	asks := registry.Asks{Paths: []registry.PathAsk{{Guest: "/b"}}}
	for host, row := range map[string]struct{ mode, want string }{
		"ws/sub":           {"rw", ""},
		"mine/sub":         {"rw", ""},
		"ws/deep/rel":      {"rw", ""},
		"twice":            {"rw", ""},
		"mine":             {"rw", "ws"}, // the link lies beside ws
		"mine/deep":        {"rw", "ws/deep"},
		"mine/deep/../sub": {"ro", "outside"}, // no plugin may write
	} {
		v := Resolver{Grants: map[string]plugin.Grant{"a": {Paths: []plugin.PathGrant{{Guest: "/a", Host: at("ws"), Mode: row.mode}}}}}
		r := v.Resolve(asks, plugin.Grant{Paths: []plugin.PathGrant{{Guest: "/b", Host: dir + "/" + host, Mode: "ro"}}})
		got := ""
		if len(r.Permissions.Mounts) == 1 {
			got = r.Permissions.Mounts[0].Host
		}
		if row.want != "" {
			row.want = at(row.want)
		}
		if got != row.want || (got == "") != (len(r.Missing) == 1) {
			t.Errorf("%s: %q, want %q; %v", host, got, row.want, r.Missing)
		}
	}
}

// noticed here, and cannot run without being asked about.
func TestEveryAskAndGrantHasARow(t *testing.T) {
	powers := Powers()
	asks := reflect.TypeFor[registry.Asks]()
	for i := range asks.NumField() {
		var one registry.Asks
		list := reflect.MakeSlice(asks.Field(i).Type, 1, 1)
		reflect.ValueOf(&one).Elem().Field(i).Set(list)
		name := asks.Field(i).Name
		if n := len(powers.Facts(one)); n != 1 {
			t.Errorf("%s: a review shows %d asks; add a row to Powers", name, n)
		}
		if !powers.Exceeds(one, registry.Asks{}, plugin.Grant{}) {
			t.Errorf("%s: an ask that nobody granted exceeds nothing", name)
		}
		if r := (Resolver{}).Resolve(one, plugin.Grant{}); len(r.Asks) != 1 || r.Asks[0].Granted || len(r.Missing) == 0 {
			t.Errorf("%s: without a grant it is resolved to %+v", name, r.Asks)
		}
	}
	notPowers := []string{"Inject", "Config"} // where a secret goes; settings
	grants := reflect.TypeFor[plugin.Grant]()
	for i := range grants.NumField() {
		name := grants.Field(i).Name
		if !slices.Contains(notPowers, name) && !slices.ContainsFunc(powers, func(p power) bool { return p.key() == strings.ToLower(name) }) {
			t.Errorf("plugin.Grant.%s has no row in Powers", name)
		}
	}
}

// A fourth kind of permission is one row: it is then asked for, granted, compared
// and described like the others.
func TestAFourthPowerIsOneRow(t *testing.T) {
	asked := map[string][]string{"old": {"HOME"}, "new": {"HOME", "LANG"}} // by the mark below, as no manifest asks for it
	env := row[string]{
		Key: "env",
		Ask: func(a registry.Asks) []string {
			if len(a.Secrets) == 0 {
				return nil
			}
			return asked[a.Secrets[0].Name]
		},
		Granted: func(r *Resolution, asks []string, i int, g plugin.Grant) bool {
			if slices.Contains(g.Secrets, "env:"+asks[i]) {
				return true
			}
			r.missAsk(Description{Sentence: tool.Textf("the variable %s", asks[i])}, "env", strconv.Quote(asks[i]))
			return false
		},
		Exceeds: func(a string, before []string, g plugin.Grant) bool {
			return !slices.Contains(before, a) && !slices.Contains(g.Secrets, "env:"+a)
		},
		Describe: func(a string) Description {
			return Description{Kind: "env", What: a, Sentence: tool.Textf("the variable %s", a), Name: "variable " + a, Value: "read"}
		},
	}
	mark := func(name string) registry.Asks { return registry.Asks{Secrets: []registry.SecretAsk{{Name: name}}} }
	powers := Table{paths(), hosts(), env}

	r := Resolver{Powers: powers}.Resolve(mark("new"), plugin.Grant{Secrets: []string{"env:HOME"}})
	want := []plugin.Ask{{Kind: "env", What: "HOME", Granted: true}, {Kind: "env", What: "LANG"}}
	if !reflect.DeepEqual(r.Asks, want) {
		t.Errorf("asked: %+v", r.Asks)
	}
	if got := r.Why().String() + "; " + r.Fix("p").String(); got != `it asks for the variable LANG and is not granted it; in tools.toml, below [grants.p], write: env = ["LANG"]` {
		t.Errorf("missing: %s", got)
	}
	if got := powers.FirstExcess(mark("new"), mark("old"), plugin.Grant{}).String(); got != "the variable LANG" {
		t.Errorf("exceeds: %q", got)
	}
	if powers.Exceeds(mark("new"), mark("old"), plugin.Grant{Secrets: []string{"env:LANG"}}) {
		t.Error("what is granted does not exceed the grant")
	}
	facts := powers.Facts(mark("new"))
	if len(facts) != 2 || facts[1].Name != "variable LANG" || facts[1].Value != "read" || facts[0].Exceeds(mark("old")) || !facts[1].Exceeds(mark("old")) {
		t.Errorf("described: %+v", facts)
	}
}
