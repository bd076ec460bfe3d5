//go:build !linux

package confine

import "errors"

var errSystem = errors.New("tools run in processes of their own on Linux only")

// Harden returns an error: this system has no workers.
func Harden(...int) error { return errSystem }

// Hide does nothing: this system has no such wall.
func Hide() error { return nil }

// Offered returns no walls: this system has none.
func Offered() Walls { return Walls{} }

// Seal returns an error: this system has no workers.
func Seal(Set) error { return errSystem }

// Bind returns an error: this system has no workers.
func Bind(Bounds) error { return errSystem }

// CloseInherited returns an error: this system has no workers.
func CloseInherited(int) error { return errSystem }

// Path returns the empty path.
func Path(int) string { return "" }
