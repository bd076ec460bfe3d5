//go:build !linux

package memsnap

import (
	"runtime"
	"strings"
	"testing"
)

func TestUnsupported(t *testing.T) {
	if _, err := Open(); err == nil || !strings.Contains(err.Error(), runtime.GOOS) {
		t.Errorf("Open says %v", err)
	}
}
