package mcpserver

import (
	"context"
	"slices"
	"time"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/script"
	"github.com/weirhost/weir/host/script/offer"
	"github.com/weirhost/weir/sdk/tool"
)

// script runs a script, which calls what the user sees.
func (u *user) script(ctx context.Context, session *host.Session, c tool.Call, ask *asker) (tool.Result, error) {
	session = session.KeepingAll().Reporting(nil)
	var person approval.Approver
	if ask != nil && ask.possible(ctx) {
		person = ask
	}
	var patience time.Duration
	var leave func(id string)
	if id, ok := ctx.Value(left{}).(*string); ok {
		person, patience, leave = nil, u.s.cfg.TaskAfter, func(of string) { *id = of }
	}
	return u.s.cfg.Scripts.Call(ctx, offer.Caller{
		Open: func(a approval.Approver, begin func(context.Context, tool.Call) error) script.Session {
			asking := session.Asking(a).Beginning(begin)
			if start := u.s.cfg.TraceInner; start != nil {
				return script.Watched(asking, start)
			}
			return asking
		},
		Ask: person, Repeats: person != nil && ask.repeats(), Patience: patience, Leave: leave, Locale: u.locale(),
		Tools: slices.DeleteFunc(session.Tools(), func(t tool.Spec) bool { return !u.offers(t.Name) }),
		Scope: archive.Scope{Principal: u.principal, Conversation: u.conversation, Everywhere: true},
		Called: func(_ tool.Call, r tool.Result, took time.Duration) {
			if f := u.s.cfg.Called; f != nil {
				f(Call{u.principal, u.conversation, r, u.s.now().Add(-took), took, u.rank(r.Tool), true})
			}
		},
	}, c)
}
