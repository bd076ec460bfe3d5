package daemon

import (
	"context"
	"net/http"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/httpjson"
	"github.com/weirhost/weir/host/daemon/sse"
	"github.com/weirhost/weir/host/daemon/turns"
)

// postChat answers a question as a stream of events. The stream opens with the
// first event, so that a question which cannot be asked is a plain answer with
// a status.
//
// A client that lost the stream can request it again with the id of the last event
// it read. Libraries repeat the request automatically; the question must not be asked
// again then.
func (d *Daemon) postChat(w http.ResponseWriter, r *http.Request) error {
	if r.Header.Get("Last-Event-ID") != "" {
		return d.resumeChat(w, r)
	}
	var ask api.Ask
	if err := httpjson.Read(w, r, &ask); err != nil {
		return err
	}
	if ask.Resume = ask.Resume && d.cfg.ResumeGrace > 0; ask.Resume {
		return d.startResumable(r, turns.Question{Ask: ask}).Serve(w, r, 0)
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	var s *sse.Stream
	stop := func() {}
	defer func() {
		if stop(); s != nil {
			s.Close()
		}
	}()
	emit := func(name string, data any) {
		if s == nil {
			s = sse.New(w, cancel)
			stop = sse.Beat(d.beat, s.Ping)
		}
		s.Event(name, data)
	}
	end, err := d.turns.Ask(ctx, d.principal(r), turns.Question{Ask: ask}, nil, emit)
	if s == nil && err != nil {
		return err
	}
	if s != nil {
		s.End()
	}
	if err != nil {
		emit(api.EventError, asProblem(err).In(localeOf(r)))
	}
	emit(api.EventEnd, end)
	return nil
}
