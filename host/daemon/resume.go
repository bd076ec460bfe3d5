package daemon

import (
	"context"
	"net/http"
	"time"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/resume"
	"github.com/weirhost/weir/host/daemon/turns"
	"github.com/weirhost/weir/sdk/tool"
)

// newResumable returns the turns that clients can resume.
func (d *Daemon) newResumable() *resume.Turns {
	return resume.New(resume.Config{
		Heartbeat: func() time.Duration { return d.beat },
		Problem:   func(l tool.Locale, err error) *api.Problem { return asProblem(err).In(l) },
	})
}

// startResumable starts a turn that does not end with its client.
func (d *Daemon) startResumable(r *http.Request, ask turns.Question) *resume.Turn {
	principal := d.principal(r)
	return d.resumable.Start(r.Context(), resume.Start{
		Principal: principal, Locale: localeOf(r), Grace: d.cfg.ResumeGrace,
		Run: func(ctx context.Context, emit func(string, any)) (api.ChatEnd, error) {
			return d.turns.Ask(ctx, principal, ask, nil, emit)
		},
	})
}

// resumeChat sends the events of a turn after the last one that the client has read.
func (d *Daemon) resumeChat(w http.ResponseWriter, r *http.Request) error {
	t, n, err := d.resumable.Find(d.principal(r), r.Header.Get("Last-Event-ID"))
	if err != nil {
		return err
	}
	return t.Serve(w, r, n)
}

// endChat ends a running turn and answers when the turn is stored. A turn that has ended
// stays unchanged.
func (d *Daemon) endChat(w http.ResponseWriter, r *http.Request) error {
	t, _, err := d.resumable.Find(d.principal(r), r.Header.Get("Last-Event-ID"))
	if err != nil {
		return err
	}
	t.End()
	select {
	case <-t.Ended():
	case <-r.Context().Done():
		return nil // the client has disconnected
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
