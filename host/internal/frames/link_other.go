//go:build !linux

package frames

import (
	"errors"
	"os"
)

// A Link is the pipes between a parent and its child, as the parent has them.
type Link struct{ In, Out *os.File }

// NewLink returns an error: this system has no workers.
func NewLink() (Link, []*os.File, error) {
	return Link{}, nil, errors.New("workers run on Linux only")
}

// Close does nothing.
func (Link) Close() error { return nil }
