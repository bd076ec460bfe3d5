package guesttest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Worker builds the smallest worker program into dir and returns the command
// for worker.Config and host.Config. It is never built for the race detector,
// under which the kernel's bound on memory cannot be held and compiling guests
// takes ten times as long. TestMain calls it once, with a folder that it removes;
// root is the repository's root as seen from the test.
func Worker(dir, root string) ([]string, error) {
	out := filepath.Join(dir, "worker")
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", out, "./host/internal/worker/child")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOFLAGS=", "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building the worker: %w\n%s", err, text)
	}
	return []string{out}, nil
}
