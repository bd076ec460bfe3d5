package mcpclient

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
)

// Of a flood of messages that answer nothing few are read, before they are decoded, and the
// answer after them is: 20,000 requests took 305 MB, 200,000 reports of progress a call's time.
func TestFloodsAreBounded(t *testing.T) {
	const answer = `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"\"method\":\"x\""}]}}`
	const changed = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
	for name, flood := range map[string]string{
		"progress":       `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"weir-1"}}`,
		"method last":    `{"params":{"level":"info","data":"x"},"jsonrpc":"2.0","m\u0065thod":"notifications/message"}`,
		"requests":       `{"jsonrpc":"2.0","id":"s","method":"sampling/createMessage","params":{"messages":[]}}`,
		"batches":        "[" + strings.Repeat(`{"jsonrpc":"2.0","id":"s","method":"ping"},`, 100) + answer + "]",
		"another's case": `{"jsonrpc":"2.0","id":"s","METHOD":"ping"}`,
	} {
		for form, line := range map[string]string{"program": "%s\n", "events": "data: %s\n\n", "lines": "data: %s\ndata: \n\n"} {
			text := strings.Repeat(fmt.Sprintf(line, flood), 5_000) + fmt.Sprintf(line, answer)
			if strings.Contains(flood, "progress") {
				text += fmt.Sprintf(line, changed)
			}
			u := newUnasked("example", hclog.NewNullLogger(), &reports{})
			var r io.Reader = newEventBody(io.NopCloser(strings.NewReader(text)), u)
			if form == "program" {
				r = &messageReader{r: bufio.NewReader(strings.NewReader(text)), log: &outputLog{server: &Server{unasked: u}}}
			}
			got, err := io.ReadAll(r)
			if form == "lines" { // an event of several lines is not told apart: too many end the stream
				if err == nil || strings.Count(string(got), "jsonrpc") > 2*unaskedBurst {
					t.Errorf("%s, %s: %d bytes, %v", name, form, len(got), err)
				}
				continue
			}
			n, least := strings.Count(string(got), "jsonrpc"), 100
			if name == "progress" {
				least = 2 // what is not dropped is handed to a call
			}
			if err != nil || n > unaskedBurst+200 || n < least || !strings.Contains(string(got), answer) {
				t.Errorf("%s, %s: %d messages, %v", name, form, n, err)
			}
			if strings.Contains(text, changed) != strings.Contains(string(got), changed) {
				t.Errorf("%s, %s: the changed list was lost", name, form)
			}
		}
	}
}

// A message of many lines counts once: some servers indent their JSON.
func TestAMessageOfManyLines(t *testing.T) {
	text := strings.Repeat("data: 1,\n", 5*unaskedBurst) + "\n"
	got, err := io.ReadAll(newEventBody(io.NopCloser(strings.NewReader(text)), newUnasked("example", hclog.NewNullLogger(), &reports{})))
	if err != nil || string(got) != text {
		t.Errorf("%d bytes of %d, %v", len(got), len(text), err)
	}
}
