package mcpserver

import (
	"maps"
	"slices"
	"time"

	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/sdk/limit"
)

// A Connected is a client with an open session.
type Connected struct {
	Principal     string
	Name, Version string // as the client calls itself, on one line
	Stream        bool   // over standard input and output of `weir mcp`; otherwise over HTTP
	Began, Last   time.Time
}

// mostName bounds the name and the version of a client, in characters.
const mostName = 80

// Connected returns the clients that have introduced themselves and whose sessions are
// open, the last used first. Clients of the revision without sessions are not among them.
func (s *Server) Connected() []Connected {
	s.mu.Lock()
	open := slices.Collect(maps.Values(s.sessions))
	streams := len(open)
	open = slices.AppendSeq(open, maps.Values(s.streams))
	s.mu.Unlock()
	var out []Connected
	for i, x := range open {
		if c, ok := x.connected(); ok {
			c.Stream = i >= streams
			if _, idle := x.idle(); c.Stream || !idle {
				c.Last = s.now()
			}
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b Connected) int { return b.Last.Compare(a.Last) })
	return out
}

// connected describes the client; false: it has not introduced itself.
func (x *session) connected() (Connected, bool) {
	p := x.sdk.InitializeParams()
	if p == nil || p.ClientInfo == nil {
		return Connected{}, false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return Connected{Principal: x.user.principal, Name: text.OneLine(limit.Visible(p.ClientInfo.Name), mostName), Version: text.OneLine(limit.Visible(p.ClientInfo.Version), mostName), Began: x.began, Last: x.last}, x.open && x.ctx.Err() == nil
}
