package script

import (
	"context"
	"errors"

	"github.com/weirhost/weir/host/internal/scriptvm"
)

// errGone says that the engine of a stored script is there no more.
var errGone = errors.New("the engine of the script is gone")

// Engines are the engines of stored scripts.
type Engines interface {
	// For returns the engine with a digest.
	For(ctx context.Context, digest string) (*scriptvm.Runtime, error)
	// Keep keeps an engine, for scripts that are resumed by a later weir.
	Keep(e *scriptvm.Runtime) error
}

// one is an engine that is the only one.
type one struct{ *scriptvm.Runtime }

func (o one) For(_ context.Context, digest string) (*scriptvm.Runtime, error) {
	if digest != o.Digest() {
		return nil, errGone
	}
	return o.Runtime, nil
}

func (o one) Keep(*scriptvm.Runtime) error { return nil }
