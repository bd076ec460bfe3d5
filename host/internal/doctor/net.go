package doctor

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/provider"
	"github.com/weirhost/weir/host/daemon"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/sdk/tool"
)

// port checks that the daemon's address is free, or its own.
func (e *exam) port(context.Context) {
	const area = "port"
	addr := e.settings.Server.Addr
	if e.Daemon != nil {
		if strings.TrimPrefix(e.url(), "http://") == addr {
			e.add(area, OK, "", "%s is this daemon's", addr)
			return
		}
		e.add(area, Note, "", "the daemon listens at %s and not at %s, as [server] addr says", e.url(), addr)
		return
	}
	l, err := e.Listen(addr)
	if err != nil {
		e.addFix(area, Fail, hintOf(err), "%s", err)
		return
	}
	_ = l.Close() // it was opened for this alone
	e.add(area, OK, "", "%s is free", addr)
}

// models asks the server of each configured model to describe it. No question is
// sent to a model, and no key is shown.
func (e *exam) models(ctx context.Context) {
	names := slices.Sorted(maps.Keys(e.settings.Models))
	found := make([]Finding, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() { found[i] = e.model(ctx, name, e.settings.Models[name]) })
	}
	all.Wait()
	e.findings = append(e.findings, found...)
	if len(names) == 0 {
		e.add("model", Note, "`weir model list` finds models here, `weir model use …` takes one", "no model is configured: the offline demo answers, which is a script and not an AI")
	}
}

func (e *exam) model(ctx context.Context, name string, m config.ModelSettings) Finding {
	finding := func(s Status, format string, args ...any) Finding {
		return Finding{Area: "model", Status: s, What: tool.Textf(format, args...)}
	}
	if m.Provider == daemon.DemoModel {
		return finding(OK, "%s: the offline demo, a script and not an AI", name)
	}
	hasKey := m.Key != ""
	m.Window, m.NativeTools = 0, nil // a server is not asked for what the configuration says
	model, err := e.Model(name, m, e.secrets)
	if err != nil {
		return unreachable(name, err)
	}
	d, ok := model.(agent.Describer)
	if !ok {
		return finding(Note, "%s: its server cannot be asked", name)
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if _, err := d.Describe(ctx); err != nil {
		return unreachable(name, err)
	}
	if unlisted := provider.Unlisted(ctx, model, m.Model); !unlisted.IsZero() {
		return Finding{"model", Warn, tool.Textf("%s: %s", name, unlisted), tool.Textf("correct model in [models.%s]; `weir model test %s` tries it", name, name)}
	}
	if hasKey {
		return finding(OK, "%s: %s answers; %s was not asked; a key is set", name, hostOf(m.BaseURL, m.Provider), m.Model)
	}
	return finding(OK, "%s: %s answers; %s was not asked; no key", name, hostOf(m.BaseURL, m.Provider), m.Model)
}

// unreachable returns what a model's server answered.
func unreachable(name string, err error) Finding {
	f := Finding{"model", Fail, tool.Textf("%s: %s", name, err), tool.Textf("`weir model test %s` says more", name)}
	if errors.Is(err, context.DeadlineExceeded) {
		f.What = tool.Textf("%s: %s", name, tool.Textf("the server said nothing for %s", checkTimeout))
	}
	if me, ok := errors.AsType[*agent.ModelError](err); ok {
		text, hint := me.Texts()
		f.What = tool.Textf("%s: %s", name, text)
		if !hint.IsZero() {
			f.Fix = hint
		}
	}
	return f
}

// hostOf returns the part of an address that contains no secret.
func hostOf(base, provider string) string {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return provider
	}
	if _, _, err := net.SplitHostPort(u.Host); err != nil {
		return u.Hostname()
	}
	return u.Host
}
