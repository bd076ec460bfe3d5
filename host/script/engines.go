package script

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync"

	"github.com/weirhost/weir/host/internal/scriptproc"
)

// errGone says that the engine of a stored script is there no more.
var errGone = errors.New("the engine of the script is gone")

// Engines are the engines of stored scripts.
type Engines interface {
	// For returns the engine with a digest.
	For(ctx context.Context, digest string) (*scriptproc.Engine, error)
	// Keep keeps an engine, for scripts that are resumed by a later weir.
	Keep(e *scriptproc.Engine) error
}

// one is an engine that is the only one.
type one struct{ *scriptproc.Engine }

func (o one) For(_ context.Context, digest string) (*scriptproc.Engine, error) {
	if digest != o.Digest() {
		return nil, errGone
	}
	return o.Engine, nil
}

func (o one) Keep(*scriptproc.Engine) error { return nil }

// WithEngines returns the same Runner, which finds the engines of stored scripts in e.
func (r *Runner) WithEngines(e Engines) *Runner {
	out := *r
	out.engines = e
	return &out
}

// KeptEngines are engines in a folder: each has one of its own, named by its digest. They
// are safe for concurrent use.
type KeptEngines struct {
	dir     string
	options scriptproc.Options // of engines that are opened

	mu   sync.Mutex
	open map[string]*scriptproc.Engine // by digest, with the current one
	kept map[string]bool               // those that are in the folder
	own  []*scriptproc.Engine          // those that Close closes
}

// NewKeptEngines returns the engines in a folder, and current, which the caller closes.
// options are those of current; the folder is made when an engine is kept.
func NewKeptEngines(dir string, current *scriptproc.Engine, options scriptproc.Options) *KeptEngines {
	return &KeptEngines{dir: dir, options: options, open: map[string]*scriptproc.Engine{current.Digest(): current}, kept: map[string]bool{}}
}

// Files of an engine in its folder.
const (
	engineFile  = "engine.wasm"
	preludeFile = "prelude.js"
	boundsFile  = "bounds.json"
)

// bounds are the settings that an engine's first state depends on.
type bounds struct {
	Memory int `json:"memory"`
}

// For implements Engines.
func (k *KeptEngines) For(ctx context.Context, digest string) (*scriptproc.Engine, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if e := k.open[digest]; e != nil {
		return e, nil
	}
	o, b := k.options, bounds{}
	dir := filepath.Join(k.dir, filepath.Base(digest))
	text, err := os.ReadFile(filepath.Join(dir, boundsFile))
	if err == nil {
		err = json.Unmarshal(text, &b)
	}
	if err == nil {
		o.VM.Files.Engine, err = os.ReadFile(filepath.Join(dir, engineFile))
	}
	if err == nil {
		o.VM.Files.Prelude, err = os.ReadFile(filepath.Join(dir, preludeFile))
	}
	if err != nil {
		return nil, errGone
	}
	o.VM.Memory, o.Slots = b.Memory, 1 // few scripts need it
	e, err := scriptproc.Open(context.WithoutCancel(ctx), o)
	if err != nil {
		return nil, errors.Join(errGone, err)
	}
	if e.Digest() != digest { // the files were changed, or this weir starts engines otherwise
		return nil, errors.Join(errGone, e.Close(ctx))
	}
	k.open[digest], k.own = e, append(k.own, e)
	return e, nil
}

// Keep implements Engines. What is in the folder of a digest never changes.
func (k *KeptEngines) Keep(e *scriptproc.Engine) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	digest := e.Digest()
	if k.kept[digest] {
		return nil
	}
	to := filepath.Join(k.dir, digest)
	if _, err := os.Stat(to); err == nil {
		k.kept[digest] = true
		return nil
	}
	if err := os.MkdirAll(k.dir, 0o700); err != nil {
		return err
	}
	from, err := os.MkdirTemp(k.dir, "new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(from)
	text, err := json.Marshal(bounds{e.Memory()})
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{engineFile: e.Files().Engine, preludeFile: e.Files().Prelude, boundsFile: text} {
		if err := os.WriteFile(filepath.Join(from, name), content, 0o600); err != nil {
			return err
		}
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	k.kept[digest] = true
	return nil
}

// removeEngines removes the engines from a folder that are not needed, and what a crash
// has left. A folder that is not there has none.
func removeEngines(dir string, needed func(digest string) bool) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if !needed(e.Name()) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

// Close closes the engines that were opened from the folder.
func (k *KeptEngines) Close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	var errs []error
	for _, e := range k.own {
		errs = append(errs, e.Close(context.Background()))
	}
	return errors.Join(errs...)
}
