package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

const thousand = 1000

// installed measures a call through a whole host, from its arguments to its
// result, with one plugin installed and with a thousand.
func (b *bench) installed(ctx context.Context) ([]row, error) {
	one, err := b.session(ctx, 1)
	if err != nil {
		return nil, err
	}
	many, err := b.session(ctx, thousand)
	if err != nil {
		return nil, err
	}
	times, err := race(b.rounds, sessionCalls(ctx, "many", many, pluginName(thousand/2)), sessionCalls(ctx, "one", one, pluginName(0)))
	if err != nil {
		return nil, err
	}
	return []row{compare(fmt.Sprintf("call, %d plugins installed", thousand), times["many"], "1 plugin", times["one"], most(1.05))}, nil
}

// session opens a host with n small plugins.
func (b *bench) session(ctx context.Context, n int) (*host.Session, error) {
	dir, err := b.plugins(fmt.Sprintf("installed-%d", n), n, plainGuest(true))
	if err != nil {
		return nil, err
	}
	h, err := host.Open(ctx, host.Config{
		Settings: host.Settings{Folders: []plugin.Folder{{Path: dir, Trust: plugin.TrustGranted}}},
		CacheDir: b.cache,
		Lock:     b.dir(fmt.Sprintf("lock-%d", n)),
	})
	if err != nil {
		return nil, err
	}
	b.defers(h.Close)
	return h.Session("bench", "bench"), nil
}

func sessionCalls(ctx context.Context, name string, s *host.Session, what string) contender {
	const args = `{"text":"a hundred bytes or so, which is what many tools get and what many of them answer with, too"}`
	return contender{name, func(n int) error {
		for range n {
			r, err := s.Call(ctx, tool.Call{Tool: what, Args: json.RawMessage(args)})
			if err != nil {
				return err
			}
			if r.Err != nil {
				return r.Err
			}
			if r.Whole() != args {
				return errors.New("the answer is not what was asked to be echoed")
			}
		}
		return nil
	}}
}
