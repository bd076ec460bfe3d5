package main

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Turns are measured with spans and without, and the spans of each arrive: the
// turn's, two of the model, one of the tool.
func TestTurns(t *testing.T) {
	var out strings.Builder
	if _, err := measureTurns(t.Context(), options{clients: 2, time: 20 * time.Millisecond, spans: true, inline: true}, &out); err != nil {
		t.Fatal(err)
	}
	at := strings.LastIndex(out.String()[:strings.Index(out.String(), " spans reached")], "\n")
	var spans int
	if n, err := fmt.Sscan(out.String()[at+1:], &spans); n != 1 || err != nil || spans < 4 || spans%4 != 0 {
		t.Errorf("%d spans\n%s", spans, out.String())
	}
}
