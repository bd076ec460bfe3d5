package sandbox

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
)

// The value of an engine's panic is not logged; its stack is.
func TestAPanicOfTheEngineShowsNoSecrets(t *testing.T) {
	var log bytes.Buffer
	err := guard(hclog.New(&hclog.LoggerOptions{Output: &log}), "running", func() error { panic("key=sk-1") })
	if !errors.Is(err, errEngine) {
		t.Errorf("%v", err)
	}
	if said := log.String(); !strings.Contains(said, "a string") || !strings.Contains(said, "guard_test.go") || strings.Contains(said, "sk-1") {
		t.Errorf("the log says %s", said)
	}
}
