package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirhost/weir/host/internal/guesttest"
)

// The benchmark runs. How long anything takes is not this test's.
func TestRun(t *testing.T) {
	weir, err := guesttest.Program(filepath.Join(guesttest.Root(t), "host", "cmd", "weir"))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := run(t.Context(), weir, 2, &out); err != nil || strings.Count(out.String(), "\n") != 3 {
		t.Errorf("%v: %s", err, &out)
	}
}
