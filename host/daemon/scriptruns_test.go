package daemon

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/internal/testsize"
)

// mute is a model that is not asked.
func mute() agent.Model {
	return replay.Func(func(int, agent.Request) replay.Reply { return replay.Text("ok") })
}

func (s *server) resume(id string, body api.ScriptAnswer) api.ScriptResult {
	s.Helper()
	return decoded[api.ScriptResult](s.T, s.post("/api/scripts/"+id+"/resume", encode(s.T, body)))
}

// resumeAll answers all calls of a script that wait.
func (s *server) resumeAll(id, word string) api.ScriptResult {
	s.Helper()
	body := api.ScriptAnswer{Answers: map[string]string{}}
	for _, q := range decoded[api.ScriptRun](s.T, s.get("/api/scripts/"+id)).Card {
		body.Answers[q.Key] = word
	}
	return s.resume(id, body)
}

// restarted stops the daemon and starts another on the same host.
func (s *server) restarted() *server {
	s.Helper()
	if err := s.daemon.Drain(s.Context()); err != nil {
		s.Fatal(err)
	}
	d, err := New(Config{
		Host: s.host, Token: testToken, Version: "test", Models: map[string]Model{"scripted": {Model: s.model}},
		Profiles: map[string]Profile{"default": {Model: "scripted", Agent: agent.Defaults()}}, Scripts: scriptsOf(s.T, s.host),
	})
	if err != nil {
		s.Fatal(err)
	}
	srv := httptest.NewServer(d.Handler())
	s.Cleanup(srv.Close)
	s.Cleanup(func() { d.Drain(context.Background()) })
	if err := d.Recover(s.Context(), ""); err != nil {
		s.Fatal(err)
	}
	return &server{s.T, srv.URL, s.host, d, s.model}
}

// notesIn returns the notes in a folder, by their names.
func notesIn(t *testing.T, dir string) (out []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		out = append(out, e.Name())
	}
	return out
}

// TestScriptWaits: all calls that wait are on one card, which says where texts come from.
// After a restart a person answers each, and the script goes on from where it was. The
// answer says what was denied, though the script has caught it.
func TestScriptWaits(t *testing.T) {
	s, work := desk(t, mute(), nil)
	put(t, filepath.Join(work, "notes.txt"), "first line of the notes\nsecond line of the notes\nthird line of the notes\n")
	out, a := s.script(testToken, api.ScriptBody{Source: `
const notes = await tools.read_note({path: "notes.txt"});
const part = await notes.part({lines: "2-3"});
const random = Math.random();
const done = await Promise.allSettled([
  tools.write_note({path: "whole.txt", text: notes}),
  tools.write_note({path: "part.txt", text: part}),
  tools.write_note({path: "secret.txt", text: "x"}),
]);
text(done.map((d) => d.status).join() + " " + (random === Math.random()));`})
	if out.State != "waiting" || out.OK || out.Error.Code != "waiting" || !strings.Contains(out.Error.Hint, "weir scripts show "+out.Script) || len(out.Card) != 3 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if names := notesIn(t, work); len(names) != 1 {
		t.Fatalf("before a person has answered there are %q", names)
	}
	from := func(q api.ScriptQuestion) string { return fmt.Sprint(q.Sources) }
	if c := out.Card; !strings.Contains(from(c[0]), "{text read_note(notes.txt)") || !strings.Contains(from(c[1]), "{text lines 2-3 of read_note(notes.txt)") || len(c[2].Sources) != 0 || !strings.Contains(c[2].Why, "/workspace") {
		t.Errorf("the card is %+v", c)
	}
	s = s.restarted()
	list := decoded[api.ScriptList](t, s.get("/api/scripts"))
	if len(list.Scripts) != 1 || list.Scripts[0].Waiting != 3 || list.Scripts[0].State != "waiting" || list.Scripts[0].Line != `const notes = await tools.read_note({path: "notes.txt"});` {
		t.Errorf("the list is %+v", list)
	}
	run := decoded[api.ScriptRun](t, s.get("/api/scripts/"+out.Script))
	if run.Made[3].Code != "waiting" || len(run.Card) != 3 || run.Stored == 0 || run.Stored > 256<<10 || run.Result != nil || len(run.Made) != 4 || run.Made[0].Brief != "read_note(notes.txt)" {
		t.Errorf("it shows %+v", run)
	}
	number := func(i int) string { return run.Card[i].Key }
	out = s.resume(out.Script, api.ScriptAnswer{Answers: map[string]string{number(0): "allow", number(1): "allow"}})
	if out.State != "waiting" || len(out.Card) != 1 {
		t.Fatalf("with one answer missing: %+v", out)
	}
	out = s.resumeAll(out.Script, "deny")
	if out.State != "done" || !out.OK || !strings.Contains(out.Text, "fulfilled,fulfilled,rejected false") {
		t.Fatalf("%+v", out)
	}
	if len(out.Calls) != 4 || out.Calls[3].Code != "denied" || out.Calls[2].Code != "" {
		t.Errorf("what was denied is not said: %+v", out.Calls)
	}
	for name, want := range map[string]string{"whole.txt": "first line of the notes\nsecond line of the notes\nthird line of the notes\n", "part.txt": "second line of the notes\nthird line of the notes\n"} {
		if text, err := os.ReadFile(filepath.Join(work, name)); err != nil || strings.TrimSpace(string(text)) != strings.TrimSpace(want) {
			t.Errorf("%s: %q %v", name, text, err)
		}
	}
	if there(t, filepath.Join(work, "secret.txt")) {
		t.Error("a denied call has run")
	}
	if a := s.post("/api/scripts/"+out.Script+"/resume", encode(t, api.ScriptAnswer{Answers: map[string]string{run.Card[2].Key: "allow"}})); a.status != 409 {
		t.Errorf("answered twice: %d %s", a.status, a.body)
	}
	if run := decoded[api.ScriptRun](t, s.get("/api/scripts/"+out.Script)); run.Result == nil || run.State != "done" || run.Stored != 0 {
		t.Errorf("at the end it shows %+v", run)
	}
}

// TestFiftyWrites: a person who has allowed a tool for a script is asked once, however the
// script calls it: fifty times, or nine where not everything is tested.
func TestFiftyWrites(t *testing.T) {
	n := testsize.Of(9, 50)
	for name, source := range map[string]string{
		"one after the other": "for (let i = 0; i < %d; i++) await tools.write_note({path: `${i}.txt`, text: 'x'}); return 'done'",
		"at once":             "await Promise.all(Array.from({length: %d}, (_, i) => tools.write_note({path: `${i}.txt`, text: 'x'}))); return 'done'",
	} {
		s, work := desk(t, mute(), nil)
		out, a := s.script(testToken, api.ScriptBody{Source: fmt.Sprintf(source, n)})
		if out.State != "waiting" || len(out.Card) != 1 && len(out.Card) != n {
			t.Fatalf("%s: %d %.500s", name, a.status, a.body)
		}
		if out = s.resumeAll(out.Script, "always"); out.State != "done" || len(notesIn(t, work)) != n {
			t.Errorf("%s: %+v, %d notes", name, out.Error, len(notesIn(t, work)))
		}
	}
}

// TestScriptsEnd: a script that waits can be cancelled, and calls nothing afterwards.
func TestScriptsEnd(t *testing.T) {
	s, work := desk(t, mute(), nil)
	out, _ := s.script(testToken, api.ScriptBody{Source: "await tools.write_note({path: 'a.txt', text: 'x'})"})
	run := decoded[api.ScriptRun](t, s.post("/api/scripts/"+out.Script+"/cancel", ""))
	if run.State != "cancelled" || run.Result == nil || run.Result.Error == nil || run.Result.Error.Code != "cancelled" {
		t.Errorf("%+v", run)
	}
	for _, path := range []string{"/cancel", "/resume"} {
		if a := s.post("/api/scripts/"+out.Script+path, `{"answers":{"1-0":"allow"}}`); a.status != 409 {
			t.Errorf("%s afterwards: %d %s", path, a.status, a.body)
		}
	}
	if names := notesIn(t, work); len(names) != 0 {
		t.Errorf("it has written %q", names)
	}
	for body, status := range map[string]int{`{"answers":{"KEY":"perhaps"}}`: 400, `{}`: 400, `{"answer":"allow"}`: 400, `{"answers":{"77":"allow"}}`: 409, `{"answers":{"1":"allow"}}`: 409, `{"answers":{"KEY":"deny"}}`: 200} {
		out, _ := s.script(testToken, api.ScriptBody{Source: "await tools.write_note({path: 'a.txt', text: 'x'})"})
		if a := s.post("/api/scripts/"+out.Script+"/resume", strings.ReplaceAll(body, "KEY", out.Card[0].Key)); a.status != status {
			t.Errorf("%s: %d %s", body, a.status, a.body)
		}
	}
}
