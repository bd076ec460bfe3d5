// Command child is a worker and nothing else: the smallest program for tests
// and measurements of package worker.
package main

import (
	"fmt"
	"os"

	"github.com/weirhost/weir/host/internal/judge"
	"github.com/weirhost/weir/host/internal/worker"
)

func main() {
	code, ok := worker.Main(worker.Tasks{worker.Manifests: judge.Serve})
	if !ok {
		fmt.Fprintln(os.Stderr, "child: this program is started by weir's tests; its last argument is", worker.Argument)
		code = 2
	}
	os.Exit(code)
}
