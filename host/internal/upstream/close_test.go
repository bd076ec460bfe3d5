package upstream

import (
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/plugin"
)

// A reload that ends after the host has closed starts nothing.
func TestAClosedSetConnectsToNothing(t *testing.T) {
	s := NewSet("1", hclog.NewNullLogger())
	s.Close()
	s.Replace([]plugin.Server{{Name: "late", Command: "/nothing/here"}})()
	if got := s.Servers(); len(got) > 0 {
		got[0].client.Close()
		t.Error("it has connected to a server")
	}
}
