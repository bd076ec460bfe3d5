package version

import "testing"

func TestOlder(t *testing.T) {
	tests := []struct {
		host, need string
		older      bool
	}{
		{"0.1.0", "0.2.0", true}, {"0.2.0", "0.2.0", false}, {"0.10.0", "0.9.0", false}, {"v1.0", "1.0.1", true},
		{"1.2.3-rc1", "1.2.3", false}, {"1", "1.0.0", false}, {"1.2.3+dirty", "1.2.4", true},
		{"dev", "9.0.0", false}, {"", "9.0.0", false}, // a host built from a working copy runs everything
	}
	for _, tt := range tests {
		if got := Older(tt.host, tt.need); got != tt.older {
			t.Errorf("%q for %q: %v", tt.host, tt.need, got)
		}
	}
}
