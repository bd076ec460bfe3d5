package access

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"sync"

	"github.com/weirhost/weir/host/daemon/setup"
)

// Bearers are connections that continue after the check of their token. Create it with
// NewBearers. It is safe for concurrent use.
type Bearers struct {
	current  *setup.Current
	sessions Sessions // nil: there are none
	clients  Clients  // nil: there are none

	mu   sync.Mutex
	open map[*bearer]bool
}

// NewBearers returns Bearers without a connection.
func NewBearers(current *setup.Current, sessions Sessions, clients Clients) *Bearers {
	return &Bearers{current: current, sessions: sessions, clients: clients, open: map[*bearer]bool{}}
}

// Len returns the number of connections.
func (b *Bearers) Len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.open)
}

// A bearer is such a connection.
type bearer struct {
	principal string
	whose     func() (principal string, ok bool)
	stop      context.CancelFunc
}

// Add stops a connection when its token or session no longer belongs to its principal. The caller
// must call gone at the end of the connection.
func (b *Bearers) Add(r *http.Request, stop context.CancelFunc) (gone func()) {
	c := &bearer{principal: Principal(r), stop: stop}
	token, ok := tokenOf(r)
	if client := Client(r); client != "" && b.clients != nil {
		c.whose = func() (string, bool) {
			principal, _, ok, err := b.clients.Whose(context.WithoutCancel(r.Context()), token)
			if err != nil { // the store says nothing at the moment, and did before
				return c.principal, true
			}
			return principal, ok
		}
	} else if ok || b.sessions == nil {
		c.whose = func() (string, bool) { return b.current.Whose(token) }
	} else {
		c.whose = func() (string, bool) { return b.sessions.Whose(r) }
	}
	b.mu.Lock()
	b.open[c] = true
	b.mu.Unlock()
	c.check() // the token may have changed since the request was let in
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.open, c)
	}
}

// Check stops the connections whose token does not hold any more.
func (b *Bearers) Check() {
	b.mu.Lock()
	all := slices.Collect(maps.Keys(b.open))
	b.mu.Unlock()
	for _, c := range all { // the store may be asked, and none waits for it but the caller
		c.check()
	}
}

// check stops a connection if its token does not hold.
func (c *bearer) check() {
	if principal, ok := c.whose(); !ok || principal != c.principal {
		c.stop()
	}
}
