package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/internal/mcpbridge"
	"github.com/weirhost/weir/host/internal/term"
)

// The files of examples/clients are what is printed for each client.
func TestClientExamples(t *testing.T) {
	for _, m := range mcpbridge.Clients() {
		var out bytes.Buffer
		c := newCLI(term.Env{Out: &out, Err: io.Discard})
		c.workspace = "/home/ann/project"
		e, err := c.stdioEntry(t.Context(), config.Paths{}, mcpbridge.Dirs{}, m)
		if err != nil {
			t.Fatal(err)
		}
		e.Command = "/usr/local/bin/weir"
		c.printEntry(m, e, "")
		file := filepath.Join(guesttest.Root(t), "examples/clients", m.Name+".json")
		if want, err := os.ReadFile(file); err != nil || string(want) != out.String() {
			t.Errorf("%s should hold (%v):\n%s", file, err, out.String())
		}
	}
}
