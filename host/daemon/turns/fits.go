package turns

import (
	"context"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/internal/history"
	"github.com/weirhost/weir/sdk/tool"
)

// Fits reports how much of each archive that a question brings the model would be
// shown. It asks no model and stores nothing.
func (s *Service) Fits(ctx context.Context, principal string, ask api.Ask) (api.Fits, error) {
	q := Question{Ask: ask}.composed()
	t, err := s.newTurn(ctx, principal, q, nil, func(string, any) {})
	if err != nil {
		return api.Fits{}, err
	}
	stored, err := t.messages(ctx)
	if err != nil {
		return api.Fits{}, err
	}
	past, err := Messages(stored)
	if err != nil {
		return api.Fits{}, err
	}
	calls := t.prof.Agent.Preload
	results := make([]tool.Result, len(calls))
	out := api.Fits{Loads: make([]api.Fit, len(calls))}
	for i, c := range calls {
		id, part, err := archive.ParsePart(c.Args)
		if err != nil {
			return api.Fits{}, err
		}
		page, err := s.Host.Archive().Peek(ctx, t.scope, id, part)
		if err != nil {
			return api.Fits{}, err
		}
		results[i] = history.Loaded(t.prof.Agent.Locale, id, part, page)
		out.Loads[i] = api.Fit{UUID: id, Chars: results[i].Shown.TotalChars}
	}
	t.prof.Agent.Mode, t.prof.Agent.NativeTools = t.modeOf(ctx, t.candidates.all[0])
	loop, err := agent.New(t.prof.Agent, t.metered(t.model), toolbox{Session: s.Host.Session(host.Principal(principal), t.scope.Conversation), allow: t.prof.Allow, deny: t.prof.Deny}, nil)
	if err != nil {
		return api.Fits{}, err
	}
	for i, n := range loop.Fits(ctx, past, q.Message, calls, results) {
		out.Loads[i].Fits = n
	}
	return out, nil
}
