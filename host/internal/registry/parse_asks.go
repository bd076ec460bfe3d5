package registry

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/weirhost/weir/host/internal/egress"
	"github.com/weirhost/weir/sdk/tool"
)

// permissions reads what the plugin asks for.
func (r reader) permissions(t table) Asks {
	var a Asks
	if t.Table == nil {
		return a
	}
	for _, p := range t.tables("paths") {
		a.Paths = append(a.Paths, p.pathAsk())
	}
	for _, h := range t.tables("hosts") {
		a.Hosts = append(a.Hosts, h.hostAsk())
	}
	for _, s := range t.tables("secrets") {
		a.Secrets = append(a.Secrets, s.secretAsk(a.Hosts))
	}
	t.done()
	return a
}

// reason reads the sentence that people are shown before they grant something, in
// Chinese too where the author wrote it.
func (t table) reason(what string) tool.Text {
	s := tool.Text{Format: t.text("reason"), Zh: t.text("reason_zh")}
	if s.IsZero() {
		t.warn("reason", tool.Textf(`add reason = "…": it is shown to whoever approves`), "%s asks for %s without a reason", t.Path, what)
	}
	return s
}

func (t table) pathAsk() PathAsk {
	p := PathAsk{Guest: t.str("guest", "/workspace")}
	if p.Guest == "" || !path.IsAbs(p.Guest) || path.Clean(p.Guest) != p.Guest || p.Guest == "/" {
		t.Bad("guest", tool.Textf(`write the folder as the guest sees it, for example guest = "/workspace"`), "%s is %q", t.Name("guest"), p.Guest)
	}
	p.Write = t.oneOf("mode", "ro", "rw") == "rw"
	p.Reason = t.reason(p.Guest)
	t.done()
	return p
}

func (t table) hostAsk() HostAsk {
	text := t.str("host", "api.example.com")
	rule, err := egress.ParseRule(text)
	if err != nil {
		t.Bad("host", tool.Textf(`write for example host = "api.example.com"; https on port 443 is meant unless it says http:// or :port`), "%s is %q, which is not a host", t.Name("host"), text)
	}
	h := HostAsk{Rule: rule, Reason: t.reason(text)}
	t.done()
	return h
}

var secretName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`) })

func (t table) secretAsk(hosts []HostAsk) SecretAsk {
	s := SecretAsk{
		Name: t.str("name", "API_KEY"), Header: t.str("header", "Authorization"),
		Format: t.str("format", "Bearer {}"), Host: t.str("host", "api.example.com"),
	}
	if !secretName().MatchString(s.Name) {
		t.Bad("name", tool.Textf(`write the name of the secret, for example name = "API_KEY"`), "%s is %q", t.Name("name"), s.Name)
	}
	if s.Header == "" {
		t.Bad("header", tool.Textf(`write the header it goes into, for example header = "Authorization"`), "%s is missing", t.Name("header"))
	}
	s.Format = cmp.Or(s.Format, "{}")
	placed := strings.Count(s.Format, "{}") == 1
	if !placed {
		t.Bad("format", tool.Textf(`write {} once where the secret goes, for example format = "Bearer {}"`), "%s is %q", t.Name("format"), s.Format)
	}
	broken := slices.ContainsFunc(hosts, func(h HostAsk) bool { return h.Rule == egress.Rule{} }) // already reported
	if !broken && !Covers(hosts, s.Host) {
		t.Bad("host", tool.Textf("name one of the hosts the plugin asks for: a secret goes nowhere else"), "%s is %q, which is not in permissions.hosts", t.Name("host"), s.Host)
	} else if _, err := egress.New(egress.Policy{Secrets: []egress.Secret{{Name: s.Name, Header: s.Header, Format: s.Format, Host: s.Host}}}); err != nil && s.Header != "" && placed && !broken {
		t.Bad("header", tool.Textf("choose a header and a format that a request can carry"), "%s", err)
	}
	s.Reason = t.reason(s.Name)
	t.done()
	return s
}

// Covers reports whether a host, written as egress.ParseRule reads it, is among the asks.
func Covers(asks []HostAsk, host string) bool {
	rule, err := egress.ParseRule(host)
	if err != nil || strings.Contains(rule.Host, "*") {
		return false
	}
	for _, a := range asks {
		if got, ok := Intersect(a.Rule, rule); ok && got == rule {
			return true
		}
	}
	return false
}

// Intersect returns what two rules both allow; ok is false when that is nothing.
func Intersect(a, b egress.Rule) (r egress.Rule, ok bool) {
	if a.Scheme != b.Scheme || a.Port != b.Port && a.Port != 0 && b.Port != 0 {
		return r, false
	}
	r = egress.Rule{Scheme: a.Scheme, Port: max(a.Port, b.Port)}
	switch {
	case covers(a.Host, b.Host):
		r.Host = a.Host
	case covers(b.Host, a.Host):
		r.Host = b.Host
	default:
		return egress.Rule{}, false
	}
	return r, true
}

// covers reports whether every host under the pattern inner is under outer.
func covers(inner, outer string) bool {
	if outer == "*" || inner == outer {
		return inner != ""
	}
	suffix, wild := strings.CutPrefix(outer, "*")
	return wild && inner != "*" && strings.HasSuffix(inner, suffix)
}
