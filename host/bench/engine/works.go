package main

import (
	"bytes"
	"context"
	"strconv"
	"time"
)

// A work is measured as one, and gives a row for each promise about it.
type work struct {
	name    string
	measure func(ctx context.Context) ([]row, error)
}

func (b *bench) works() []work {
	echo := job{"echo", bytes.Repeat([]byte("x"), 100), 100}
	text := func(n int) job { return job{"text", []byte(strconv.Itoa(n)), n} }
	plain := plainGuest(true)
	works := []work{
		b.against(pair{"echo 100 B, direct ABI, Go guest", b.direct, echo}, versus{warmName, 1. / 6}, versus{freshName, 1. / 400}),
		b.against(pair{"echo 100 B, direct ABI, C guest", plain, echo}, versus{warmName, 1. / 15}),
		b.against(pair{"echo 100 B, Extism plugin, Go guest", b.extism, echo}, versus{warmName, 1. / 2}),
		b.against(pair{"echo 100 B, Extism plugin, C guest", plainGuest(false), echo}, versus{warmName, 1. / 6}),
		b.against(pair{"64 KiB result, direct ABI, Go guest", b.direct, text(64 << 10)}, versus{warmName, 1. / 20}),
		b.against(pair{"64 KiB result, direct ABI, C guest", plain, text(64 << 10)}, versus{warmName, 1. / 20}),
		b.against(pair{"1 MiB result, direct ABI, Go guest", b.direct, text(1 << 20)}, versus{warmName, 1. / 20}),
		b.against(pair{"1 MiB result, direct ABI, C guest", plain, text(1 << 20)}, versus{warmName, 1. / 20}),
		b.apart(pair{"echo 100 B, worker process, Go guest", b.direct, echo}),
		b.apart(pair{"echo 100 B, worker process, C guest", plain, echo}),
	}
	for _, l := range loops() {
		works = append(works, work{l.name, b.checked(l)})
	}
	return append(works,
		work{"start with many plugins", b.starts},
		work{"call with a thousand plugins installed", b.installed},
		work{"two callers on two cores", b.twoCallers(b.direct, echo)},
	)
}

// A pair is a guest with what it is asked to do.
type pair struct {
	name string
	wasm []byte
	job  job
}

// A versus is a promise against one way to use the SDK.
type versus struct {
	way  string
	most float64
}

const oursName = "ours"

// against measures a guest in this process.
func (b *bench) against(p pair, promises ...versus) work {
	return work{p.name, func(ctx context.Context) ([]row, error) {
		ours, err := b.inline(ctx, p.wasm, false)
		if err != nil {
			return nil, err
		}
		return b.race(ctx, ours, p, promises...)
	}}
}

// apart measures a guest in a worker.
func (b *bench) apart(p pair) work {
	return work{p.name, func(ctx context.Context) ([]row, error) {
		ours, err := b.worker(ctx, p.wasm)
		if err != nil {
			return nil, err
		}
		return b.race(ctx, ours, p, versus{warmName, 1. / 2})
	}}
}

func (b *bench) race(ctx context.Context, ours caller, p pair, promises ...versus) ([]row, error) {
	ref, err := b.newReference(ctx, p.wasm)
	if err != nil {
		return nil, err
	}
	ways := map[string]contender{warmName: ref.again(p.job), freshName: ref.fresh(ctx, p.job)}
	cs := []contender{calls(ctx, oursName, ours, p.job)}
	for _, v := range promises {
		cs = append(cs, ways[v.way])
	}
	times, err := race(b.rounds, cs...)
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, v := range promises {
		rows = append(rows, compare(p.name, times[oursName], "go-sdk "+v.way, times[v.way], most(v.most)))
	}
	return rows, nil
}

func compare(what string, ours time.Duration, who string, ref time.Duration, t target) row {
	return row{what: what + " / " + who, ours: took(ours), ref: took(ref), ratio: float64(ours) / float64(ref), target: t}
}

// checked measures what the stop checks cost a guest that only computes.
func (b *bench) checked(l loop) func(context.Context) ([]row, error) {
	return func(ctx context.Context) ([]row, error) {
		with, err := b.inline(ctx, l.wasm, false)
		if err != nil {
			return nil, err
		}
		without, err := b.inline(ctx, l.wasm, true)
		if err != nil {
			return nil, err
		}
		j := job{export: "run"}
		times, err := race(b.rounds, calls(ctx, oursName, with, j), calls(ctx, "unchecked", without, j))
		if err != nil {
			return nil, err
		}
		return []row{compare(l.name+", with stop checks", times[oursName], "unchecked", times["unchecked"], most(l.most))}, nil
	}
}

// twoCallers measures how much more two callers get done than one.
func (b *bench) twoCallers(wasm []byte, j job) func(context.Context) ([]row, error) {
	return func(ctx context.Context) ([]row, error) {
		c, err := b.inline(ctx, wasm, false)
		if err != nil {
			return nil, err
		}
		times, err := race(b.rounds, calls(ctx, oursName, c, j), together(ctx, "two", c, j))
		if err != nil {
			return nil, err
		}
		return []row{{
			what: "calls per second, two callers / one", ours: took(times["two"]), ref: took(times[oursName]),
			ratio: float64(times[oursName]) / float64(times["two"]), target: least(1.5),
		}}, nil
	}
}
