package main

import (
	"bytes"
	"regexp"
	"testing"
)

// The story runs on this repository's own files, with the tools as `make plugins`
// builds them.
func TestStory(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), &out, "../.."); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{
		`notice   \[\d+ of [0-9,]+ results shown whole; .*load_tool_history\(uuid="[0-9a-f-]+", lines="\d+-\d+"\)`,
		`archive  the whole is committed first: 52000 characters, 800 lines`,
		`cut      \d+ characters in \d+ lines left out, by the agent's limit of 12,000`,
		`notice   \[[0-9,]+ of 52,000 characters .*load_tool_history\(uuid="[0-9a-f-]+"`,
		`fold     the turn is over`,
		`📎 \[Tool result archived: [0-9a-f-]+\]`,
		`call     load_tool_history \{.*600`,
		`reload   line 600: `,
		`answer   (.*\n.*){1,3}line 600: `,
		`lost     0`,
	} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("the story lacks %s", want)
		}
	}
	if regexp.MustCompile(`report   \w+ ✗`).MatchString(out.String()) {
		t.Error("a call failed")
	}
	if t.Failed() {
		t.Log(out.String())
	}
}
