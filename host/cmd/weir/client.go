package main

import (
	"context"
	"time"

	"github.com/weirhost/weir/host/daemon/client"
	"github.com/weirhost/weir/host/internal/plugincmd"
)

// A session is a client of the daemon that a command works with: the running one,
// or one that was opened inside this process for the command alone.
type session struct {
	*client.Client
	// config is the file of the daemon's configuration. Empty: it has none.
	config string
	// local reports whether the daemon runs inside this process.
	local bool
	// warm is Host.Warm of a local daemon. A running daemon compiles automatically; it
	// is then nil.
	warm func(ctx context.Context, report func(name string, took time.Duration, err error), names ...string)
}

// plugins returns what the commands about plugins need of the daemon.
func (s *session) plugins() plugincmd.Daemon {
	return plugincmd.Daemon{API: s.Client, Config: s.config, Warm: s.warm}
}

// running returns a client for the running daemon of this data folder, or nil. The
// daemon answers in the language of the reader.
func (c *cli) running(ctx context.Context, p paths) *session {
	s := running(ctx, p)
	if s != nil {
		s.SetLanguage(string(c.language()))
	}
	return s
}

// running returns a client for the running daemon of this data folder, or nil.
func running(ctx context.Context, p paths) *session {
	c, a := client.Find(ctx, client.Files{Address: p.Address, Lock: p.Lock, Token: p.Token})
	if c == nil {
		return nil
	}
	return &session{Client: c, config: a.Config}
}
