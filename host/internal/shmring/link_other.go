//go:build !linux

package shmring

import "os"

// A ChildEnd is a child's end of a pipe.
type ChildEnd int

// Read implements io.Reader.
func (ChildEnd) Read([]byte) (int, error) { return 0, errSystem }

// Send implements Carrier.
func (ChildEnd) Send(_, _ []byte) error { return errSystem }

// A Link is what passes between a parent and its child, as the parent has it.
type Link struct {
	In, Out  *os.File
	Shared   *Region
	Capacity int
}

// NewLink returns an error: this system has no workers.
func NewLink() (Link, []*os.File, error) { return Link{}, nil, errSystem }

// Carrier returns nil.
func (Link) Carrier() Carrier { return nil }

// Close does nothing.
func (Link) Close() error { return nil }
