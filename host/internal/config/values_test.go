package config

import (
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/internal/runner"
	"github.com/weirhost/weir/sdk/tool"
)

// An amount of memory may be without a bound. The host receives the amount; 0 is the
// default.
func TestByteLimit(t *testing.T) {
	for text, want := range map[string]ByteLimit{"512MiB": 512 << 20, " 1GiB ": 1 << 30, "0": 0, "-1": -1, "-2GiB": -1} {
		s, faults := Parse("tools.toml", "[sandbox]\nloaded = \""+text+"\"\n")
		if len(faults) > 0 || s.Sandbox.Loaded != want {
			t.Errorf("%q: %v, %v", text, tool.Bytes(s.Sandbox.Loaded), faults)
		}
		d := s.WithDefaults()
		if want == 0 {
			want = ByteLimit(runner.DefaultLoaded)
		}
		if got := d.Host(Paths{}, nil, hclog.NewNullLogger(), "").Loaded; got != tool.Bytes(want) {
			t.Errorf("%q comes to %v", text, got)
		}
		again := ByteLimit(7)
		written, err := d.Sandbox.Loaded.MarshalText()
		if err != nil || again.UnmarshalText(written) != nil || again != want {
			t.Errorf("%q is written as %q and read as %v", text, written, again)
		}
	}
	for _, text := range []string{"", "-", "--1", "much", "-much", "1 elephant"} {
		if _, faults := Parse("tools.toml", "[sandbox]\nloaded = \""+text+"\"\n"); len(faults) != 1 {
			t.Errorf("%q: %v", text, faults)
		}
	}
}
