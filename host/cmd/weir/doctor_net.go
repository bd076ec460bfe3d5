package main

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
	"github.com/weirhost/weir/host/daemon"
	"github.com/weirhost/weir/sdk/tool"
)

// port says whether the daemon's address is free, or its own.
func (e *examination) port(context.Context) {
	const area = "port"
	addr := e.settings.Server.Addr
	if e.daemon != nil {
		if strings.TrimPrefix(e.daemon.URL(), "http://") == addr {
			e.say(area, inOrder, "", "%s is this daemon's", addr)
			return
		}
		e.say(area, noted, "", "the daemon listens at %s and not at %s, as [server] addr says", e.daemon.URL(), addr)
		return
	}
	l, err := listen(addr)
	if err != nil {
		var ue *usageError
		hint := ""
		if errors.As(err, &ue) {
			hint = ue.Hint.String()
		}
		e.say(area, faulty, hint, "%s", err)
		return
	}
	_ = l.Close() // it was opened for this alone
	e.say(area, inOrder, "", "%s is free", addr)
}

// models asks the server of each configured model what it is. No question is
// put to a model, and no key is shown.
func (e *examination) models(ctx context.Context) {
	names := slices.Sorted(maps.Keys(e.settings.Models))
	found := make([]finding, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() { found[i] = e.model(ctx, name, e.settings.Models[name]) })
	}
	all.Wait()
	e.findings = append(e.findings, found...)
	if len(names) == 0 {
		e.say("model", noted, "`weir model list` finds models here, `weir model use …` takes one", "no model is configured: the offline demo answers, which is a script and not an AI")
	}
}

func (e *examination) model(ctx context.Context, name string, m ModelSettings) finding {
	f := finding{Area: "model", Status: inOrder}
	if m.Provider == daemon.DemoModel {
		f.What = name + ": the offline demo, a script and not an AI"
		return f
	}
	key := "no key"
	if m.Key != "" {
		key = "a key is set"
	}
	m.Window, m.NativeTools = 0, nil // what is known already would not be asked
	made := e.c.model(name, m, e.secrets, tool.En, nopLogger())
	if b, ok := made.Model.(broken); ok {
		return unreachable(f, name, b.err)
	}
	d, ok := made.Model.(agent.Describer)
	if !ok {
		f.Status, f.What = noted, name+": its server cannot be asked"
		return f
	}
	ctx, cancel := context.WithTimeout(ctx, examineTime)
	defer cancel()
	if _, err := d.Describe(ctx); err != nil {
		return unreachable(f, name, err)
	}
	f.What = name + ": " + m.Model + " at " + hostOf(m.BaseURL, m.Provider) + " answers; " + key
	return f
}

// unreachable words what a model's server said.
func unreachable(f finding, name string, err error) finding {
	f.Status, f.What, f.Fix = faulty, name+": "+err.Error(), "`weir model test "+name+"` says more"
	var me *agent.ModelError
	if errors.As(err, &me) {
		f.What = name + ": " + me.Msg
		if me.Hint != "" {
			f.Fix = me.Hint
		}
	}
	return f
}

// hostOf is the part of an address that holds no secret.
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
