//go:build linux && (race || cgo || !(amd64 || arm64))

package worker

// The detector's build, and one with cgo, have no walls, and no list of system calls is known for other machines.

func fort(string) {}

func captive(string) {}
