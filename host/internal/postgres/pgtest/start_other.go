//go:build !linux

package pgtest

import "errors"

// Start returns an error.
func Start() (url string, stop func(), err error) {
	_, err = Installed()
	return "", nil, err
}

// Installed returns an error.
func Installed() (string, error) { return "", errors.New("these tests start it on Linux only") }
