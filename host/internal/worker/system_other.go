//go:build !linux

package worker

import (
	"errors"
	"os"
	"os/exec"
)

// Supported reports whether this system can hold a worker to its bounds.
func Supported() bool { return false }

var errSystem = errors.New("tools run in processes of their own on Linux only")

type spawner struct{}

func newSpawner() *spawner { return &spawner{} }

func (*spawner) start(*exec.Cmd) error { return errSystem }

func (*spawner) close() {}

func killed(*os.ProcessState) bool { return false }
