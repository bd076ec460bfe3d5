package guesttest

import "path/filepath"

// Worker builds the smallest worker program and returns the command for
// worker.Config and host.Config. It is never built for the race detector, under
// which the kernel's bound on memory cannot be held. TestMain calls it once; root
// is the repository's root as seen from the test.
func Worker(root string) ([]string, error) {
	out, err := Program(filepath.Join(root, "host", "internal", "worker", "child"))
	return []string{out}, err
}
