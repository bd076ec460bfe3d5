package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weirhost/weir/sdk/tool"

	"github.com/weirhost/weir/host/archive"
)

func TestExport(t *testing.T) {
	c := newClock()
	s := openTest(t, func(cfg *archive.Config) { cfg.Now = c.now })
	ensure(t, s, mine)
	if err := s.Append(t.Context(), mine, []Message{
		{Turn: 1, Role: "user", Content: "多少 <b>?", Body: json.RawMessage(`{"role":"user"}`)},
		{Turn: 1, Role: "assistant", Content: "42", Body: json.RawMessage(`not JSON`)}, // must not spoil the rest
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.LogCalls(t.Context(), []Call{{Scope: mine, Turn: 1, Tool: "calc", Produced: 2, Shown: 2}, {Scope: Scope{Principal: "ann", Conversation: "c2"}, Tool: "other"}}); err != nil {
		t.Fatal(err)
	}
	old := putEntry(t, s, archive.Entry{Scope: mine, Tool: "calc", Full: "expired", Expires: c.at.Add(time.Minute)})
	c.forward(time.Hour)
	long := putEntry(t, s, archive.Entry{Scope: mine, Tool: "run", Full: strings.Repeat("line <&> 行\n", 500), Raw: []byte("\x1b[31mraw\xff"), Parts: []tool.Blob{{MIME: "image/png", Data: []byte{1}}}})
	putEntry(t, s, archive.Entry{Scope: Scope{Principal: "ann", Conversation: "c2"}, Tool: "run", Full: "other conversation"})
	if err := s.archive.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := s.Export(t.Context(), mine, &out); err != nil {
		t.Fatal(err)
	}
	var kinds []string
	var archives []exportResult
	for line := range strings.Lines(out.String()) {
		var l exportLine
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&l); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		kinds = append(kinds, l.Kind)
		if l.Archive != nil {
			archives = append(archives, *l.Archive)
		}
	}
	if diff := cmp.Diff([]string{"conversation", "message", "message", "tool_call", "archive", "archive"}, kinds); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if a := archives[0]; a.UUID != old.UUID || a.Full != nil || !a.Pruned {
		t.Errorf("the expired one: %+v", a)
	}
	if a := archives[1]; a.UUID != long.UUID || a.Full == nil || *a.Full != long.Full || string(a.Raw) != "\x1b[31mraw\xff" || len(a.Parts) != 1 || a.SHA256 != long.SHA256 {
		t.Errorf("the long one: %+v", a)
	}
	if strings.Contains(out.String(), "other") || !strings.Contains(out.String(), "多少 <b>?") {
		t.Error("it exports what it should not, or escapes what it need not")
	}
}

// Archives of an application that keeps its conversations itself are exported
// too.
func TestExportWithoutConversation(t *testing.T) {
	s := openTest(t)
	put(t, s, "text")
	var out bytes.Buffer
	if err := s.Export(t.Context(), mine, &out); err != nil || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("%q, error %v", out.String(), err)
	}
}

type brokenPipe struct{}

var errPipe = errors.New("broken pipe")

func (brokenPipe) Write([]byte) (int, error) { return 0, errPipe }

func TestExportToNowhere(t *testing.T) {
	s := openTest(t)
	put(t, s, "text")
	if err := s.Export(t.Context(), mine, brokenPipe{}); !errors.Is(err, errPipe) {
		t.Errorf("got %v", err)
	}
}
