//go:build !linux

package memsnap

import (
	"errors"
	"os"
	"runtime"
)

// Supported says why memories cannot be renewed on this system, or nil. Open
// may still find that this kernel cannot do it.
func Supported() error {
	return errors.New("memories are renewed on Linux only, and this is " + runtime.GOOS)
}

// What follows is never reached, for Open fails.

func reserve(uint64) ([]byte, error)               { return nil, Supported() }
func commit([]byte) error                          { return Supported() }
func discard([]byte) error                         { return Supported() }
func unmap([]byte) error                           { return Supported() }
func newFile(int64) (*os.File, error)              { return nil, Supported() }
func fixSize(*os.File) error                       { return Supported() }
func emptyFile(*os.File) error                     { return Supported() }
func seal(*os.File) error                          { return Supported() }
func mapView(*os.File, uint64) ([]byte, error)     { return nil, Supported() }
func mapOver([]byte, *os.File) error               { return Supported() }
func duplicate(*os.File) (*os.File, error)         { return nil, Supported() }
func openTable() (*os.File, error)                 { return nil, Supported() }
func find(*os.File, []byte, []region) (int, error) { return 0, Supported() }
