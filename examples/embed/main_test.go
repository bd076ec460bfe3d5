package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/weirhost/weir/host"
)

func TestMain(m *testing.M) {
	if code, ok := host.WorkerMain(); ok {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), &out, "../tools", t.TempDir()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"primes             ready", "left out by the operator's limit of 600", "of 12145 characters left out, by the operator's limit of 600", "7927 7933"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("there is no %q in:\n%s", want, out.String())
		}
	}
}
