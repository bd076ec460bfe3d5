//go:build !linux

package pgtest

import "errors"

func start() (string, func(), error) {
	return "", nil, errors.New("these tests start it on Linux only")
}
