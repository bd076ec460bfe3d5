package daemon

import (
	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon/usage"
	"github.com/weirhost/weir/sdk/tool"
)

// A Quota bounds what one user uses.
type Quota = usage.Quota

// account returns a principal's account; errors about its quota are in the language l.
func (d *Daemon) account(principal string, l tool.Locale) usage.Account {
	return usage.Account{Principal: principal, Quota: d.view(principal).User.quota(), Locale: l}
}

// metered returns a model whose replies are counted for an account.
func (d *Daemon) metered(m Model, a usage.Account) usage.Model {
	return usage.Model{Model: m.Model, Meter: d.meter, Account: a, Price: m.Price, Estimator: m.Estimator}
}

// metered returns the turn's model, counted for the turn's principal.
func (t *turn) metered() agent.Model {
	return t.d.metered(t.model, usage.Account{Principal: t.scope.Principal, Quota: t.quota, Locale: t.locale()})
}
