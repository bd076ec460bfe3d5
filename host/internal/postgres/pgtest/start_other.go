//go:build !linux

package pgtest

// Start returns an error.
func Start() (url string, stop func(), err error) {
	return "", nil, ErrMissing
}

// Installed returns an error.
func Installed() (string, error) { return "", ErrMissing }
