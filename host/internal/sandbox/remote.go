package sandbox

import (
	"context"
	"errors"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/tool"
)

// ErrNotCompiled is the error of Load if it may only read the cache and the module's
// code is missing or damaged.
var ErrNotCompiled = errors.New("the module is not compiled yet")

// Facts are what is known of a module without its compiled code. A process that lets
// another one run the module uses them to refuse what the other would refuse.
type Facts struct {
	Memory tool.Bytes // the cap of each linear memory of the guest

	shape *structure
}

// Examine checks a plugin as Load does, without an engine. The error is the one that
// Load would return.
func (e *Engine) Examine(p Plugin) (Facts, error) {
	s, memory, err := e.examine(p)
	if err != nil {
		return Facts{}, msg.Errorf("plugin %s: %w", p.Name, err)
	}
	s.trim()
	return Facts{Memory: memory, shape: s}, nil
}

// Compiled reports whether the cache holds the plugin's code, undamaged.
func (e *Engine) Compiled(p Plugin) bool {
	s, err := parseModule(p.Wasm)
	if err != nil || e.cache == nil {
		return false
	}
	pl, err := e.front.plan(s)
	if err != nil || !intact(e.cache.place(pl.wasm)) {
		return false
	}
	e.cache.note(p.Wasm, pl.wasm, e.front.mark())
	return true
}

// LikelyCompiled reports whether the cache's record lists the code of the module with
// that SHA-256, in hex. It is cheap and does not verify the code.
func (e *Engine) LikelyCompiled(sha256 string) bool {
	return e.cache != nil && e.cache.likelyCompiled(sha256, e.front.mark())
}

// CacheVersion returns Config.CacheVersion for engines that share the CacheDir; empty
// without one.
func (e *Engine) CacheVersion() string {
	if e.cache == nil {
		return ""
	}
	return e.cache.version
}

// CacheFolder returns the folder in which the engine keeps compiled code; empty without one.
// It lies in Config.CacheDir, or is that.
func (e *Engine) CacheFolder() string {
	if e.cache == nil {
		return ""
	}
	return e.cache.dir
}

// fromCache is compile for an engine that may not compile.
func (e *Engine) fromCache(ctx context.Context, p plan) (program, error) {
	dir := e.cache.place(p.wasm)
	if !intact(dir) {
		return nil, ErrNotCompiled
	}
	prog, err := e.front.compile(ctx, p, dir)
	if err != nil {
		return nil, ErrNotCompiled
	}
	return prog, nil
}

func (m *Module) facts() Facts { return Facts{Memory: m.memory, shape: m.shape} }

// Admit applies the defaults to an invocation and refuses what would fail inside the
// guest.
func (f Facts) Admit(inv Invocation) (Invocation, *tool.Error) {
	inv = inv.withDefaults()
	return inv, f.admit(inv)
}

func (f Facts) admit(inv Invocation) *tool.Error {
	if err := f.shape.checkExport(inv.Export); err != nil {
		return tool.Errorf(tool.Failed, hintReport, "the plugin of %s does not match its manifest: %s", inv.Name(), err)
	}
	if most := min(maxInput, int(f.Memory)/2); len(inv.Input) > most {
		return tool.Errorf(tool.TooLarge, hintText, "the arguments have %d bytes; %s accepts at most %d", len(inv.Input), inv.Name(), most)
	}
	return nil
}

// Printable makes text of an untrusted source safe to log and to show: valid UTF-8 of
// at most n bytes, without control characters, terminal sequences and characters that
// hide or reorder text.
func Printable(s string, n int) string { return printable(s, n) }
