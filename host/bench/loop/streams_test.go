package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/weirhost/weir/host"
)

// TestMain lets the test's own program be the server, and the server's worker.
func TestMain(m *testing.M) {
	if code, ok := host.WorkerMain(); ok {
		os.Exit(code)
	}
	if slices.Contains(os.Args, "-serve") {
		if _, err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// Streams end properly beside clients that read nothing, and nothing of them
// remains. The benchmark measures the time.
func TestStreams(t *testing.T) {
	b, err := streams(t.Context(), options{streams: 50, inline: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(b.rows) != 3 || b.slow != 2 || b.after.Goroutines > b.before.Goroutines {
		t.Errorf("%+v", b)
	}
}
