package daemon

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/usage"
	"github.com/weirhost/weir/internal/testtime"
)

// mcpTask is the answer to a call that may be a task, or to a question about one.
type mcpTask struct {
	Result struct {
		ResultType, TaskID, Status, StatusMessage string
		CreatedAt, LastUpdatedAt                  time.Time
		TTLMs                                     *int64
		PollIntervalMs                            int
		InputRequests                             map[string]struct {
			Method string
			Params struct{ Message string }
		}
		Content []struct{ Text string }
		Result  struct {
			Content []struct{ Text string }
			IsError bool
		}
	}
	Error struct {
		Code    int
		Message string
		Data    json.RawMessage
	}
}

// Capabilities of clients.
const (
	tasksAndForms = `{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`
	tasksAlone    = `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`
)

// task sends a request of a client with these capabilities. params lack their last brace.
func (s *server) task(capabilities, method, name, params string) mcpTask {
	s.Helper()
	return s.taskAs(testToken, capabilities, method, name, params)
}

func (s *server) taskAs(token, capabilities, method, name, params string) mcpTask {
	s.Helper()
	v := asMCP(method, name, params)
	a := s.do("POST", v.path, strings.Replace(v.body, `Capabilities":`+tasksAlone, `Capabilities":`+capabilities, 1), func(r *http.Request) {
		maps.Copy(r.Header, v.header)
		bearing(token)(r)
	})
	text := a.body
	for line := range strings.Lines(a.body) { // an answer may be a stream with one event
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			text = data
		}
	}
	var out mcpTask
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		s.Fatalf("%v: %s", err, a.body)
	}
	return out
}

func (s *server) run(capabilities, code string) mcpTask {
	s.Helper()
	return s.task(capabilities, "tools/call", "run_script", `{"name":"run_script","arguments":{"code":`+strconv.Quote(code)+`}`)
}

func (s *server) taskGet(capabilities, id string) mcpTask {
	s.Helper()
	return s.task(capabilities, "tasks/get", id, `{"taskId":"`+id+`"`)
}

// ended polls a task until it has ended.
func (s *server) ended(id string) (t mcpTask) {
	s.Helper()
	testtime.Until(s, "the task ends", func() bool {
		t = s.taskGet(tasksAndForms, id)
		return t.Result.Status != "working"
	})
	return t
}

const twoNotes = `await Promise.all([1, 2].map((i) => tools.write_note({path: i + ".txt", text: "x"}))); return "both written"`

// TestTasksOfScripts: a script that waits for a person is a task for clients that know
// tasks. The person is asked by the task, and its result is what the call would have had.
func TestTasksOfScripts(t *testing.T) {
	s, work := desk(t, replay.New(), nil)
	made := s.run(tasksAndForms, twoNotes)
	id := made.Result.TaskID
	if r := made.Result; r.ResultType != "task" || r.Status != "working" || id == "" || r.TTLMs != nil || r.PollIntervalMs <= 0 || r.CreatedAt.IsZero() || r.LastUpdatedAt.IsZero() || len(r.InputRequests) > 0 {
		t.Fatalf("%+v", made)
	}
	if r := s.taskGet(tasksAlone, id).Result; r.Status != "working" || !strings.Contains(r.StatusMessage, "weir scripts show "+id) || r.InputRequests != nil {
		t.Errorf("without a form: %+v", r)
	}
	asked := s.taskGet(tasksAndForms, id).Result
	if asked.ResultType != "complete" || asked.Status != "input_required" || len(asked.InputRequests) != 1 {
		t.Fatalf("%+v", asked)
	}
	for key, q := range asked.InputRequests {
		if q.Method != "elicitation/create" || strings.Count(q.Params.Message, ".txt") < 2 {
			t.Errorf("the question is %+v", q)
		}
		for _, other := range []string{"approve-0", key} {
			ack := s.task(tasksAndForms, "tasks/update", id, `{"taskId":"`+id+`","inputResponses":{"`+other+`":{"action":"accept","content":{"answer":"once"}}}`)
			if ack.Error.Code != 0 || ack.Result.ResultType != "complete" || ack.Result.TaskID != "" {
				t.Errorf("%+v", ack)
			}
			if other != key && s.taskGet(tasksAndForms, id).Result.Status != "input_required" {
				t.Error("an answer to no question was one")
			}
		}
	}
	end := s.ended(id).Result
	if end.Status != "completed" || end.Result.IsError || len(end.Result.Content) == 0 || !strings.Contains(end.Result.Content[0].Text, "both written") || !there(t, filepath.Join(work, "2.txt")) {
		t.Errorf("%+v", end)
	}
	for _, method := range []string{"tasks/update", "tasks/cancel"} { // too late is no error
		if ack := s.task(tasksAlone, method, id, `{"taskId":"`+id+`"`); ack.Error.Code != 0 || s.taskGet(tasksAlone, id).Result.Status != "completed" {
			t.Errorf("%s: %+v", method, ack)
		}
	}
}

// TestSomeCallsOfATask: the form of a task denies some calls, too; what is no clear no to a
// field is one.
func TestSomeCallsOfATask(t *testing.T) {
	s, work := desk(t, replay.New(), nil)
	id := s.run(tasksAndForms, strings.Replace(twoNotes, "all(", "allSettled(", 1)).Result.TaskID
	for key := range s.taskGet(tasksAndForms, id).Result.InputRequests {
		s.task(tasksAndForms, "tasks/update", id, `{"taskId":"`+id+`","inputResponses":{"`+key+`":{"action":"accept","content":{"answer":"once","deny_1":false,"deny_2":"yes"}}}`)
	}
	if r := s.ended(id).Result; r.Status != "completed" || r.Result.IsError || !strings.Contains(r.Result.Content[0].Text, "that were denied: write_note – path: 2.txt") || !there(t, filepath.Join(work, "1.txt")) || there(t, filepath.Join(work, "2.txt")) {
		t.Errorf("%+v", r)
	}
}

// TestAnswersOfTasks: a refusal is the script's to read, a script that fails is a result, and
// one that ends at once is no task.
func TestAnswersOfTasks(t *testing.T) {
	s, work := desk(t, replay.New(), nil)
	if r := s.run(tasksAndForms, `return "at once"`); r.Result.TaskID != "" || len(r.Result.Content) == 0 || !strings.Contains(r.Result.Content[0].Text, "at once") {
		t.Errorf("%+v", r)
	}
	id := s.run(tasksAndForms, twoNotes).Result.TaskID
	for key := range s.taskGet(tasksAndForms, id).Result.InputRequests {
		s.task(tasksAndForms, "tasks/update", id, `{"taskId":"`+id+`","inputResponses":{"`+key+`":{"action":"decline"}}`)
	}
	if r := s.ended(id).Result; r.Status != "completed" || !r.Result.IsError || there(t, filepath.Join(work, "1.txt")) {
		t.Errorf("%+v", r)
	}
	// Each question has a name of its own, also that about the same call again.
	id = s.run(tasksAndForms, `for (let i = 0; i < 2; i++) await tools.write_note({path: "same.txt", text: "x"}); return "twice"`).Result.TaskID
	keys := map[string]bool{}
	for range 2 {
		for key := range s.ended(id).Result.InputRequests {
			keys[key] = true
			s.task(tasksAndForms, "tasks/update", id, `{"taskId":"`+id+`","inputResponses":{"`+key+`":{"action":"accept","content":{"answer":"once"}}}`)
		}
	}
	if r := s.ended(id).Result; len(keys) != 2 || r.Status != "completed" || r.Result.IsError {
		t.Errorf("%v %+v", keys, r)
	}
}

// TestWhoseTasks: a task is for the user whose call it was, and for clients that know tasks.
func TestWhoseTasks(t *testing.T) {
	s, _ := desk(t, replay.New(), nil)
	id := s.run(tasksAlone, twoNotes).Result.TaskID
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		if r := s.task("{}", method, id, `{"taskId":"`+id+`"`); r.Error.Code != -32021 || !strings.Contains(string(r.Error.Data), "io.modelcontextprotocol/tasks") {
			t.Errorf("%s of a client without tasks: %+v", method, r)
		}
		if r := s.task(tasksAlone, method, "none", `{"taskId":"none"`); r.Error.Code != -32602 || r.Error.Message == "" {
			t.Errorf("%s of no task: %+v", method, r)
		}
	}
	other := decoded[api.ScriptResult](t, s.post("/api/scripts", `{"source":"return await tools.write_note({path: \"a.txt\", text: \"x\"})"}`))
	if r := s.taskGet(tasksAlone, other.Script); other.Script == "" || r.Error.Code != -32602 {
		t.Errorf("a script that no client has called is a task: %+v", r)
	}
	if r := s.run(`{}`, twoNotes); r.Result.TaskID != "" || len(r.Result.Content) == 0 || !strings.Contains(r.Result.Content[0].Text, "weir scripts show") {
		t.Errorf("a client without tasks got one: %+v", r)
	}
	v := asMCP("server/discover", "", `{"x":1`)
	if a := s.do("POST", v.path, v.body, func(r *http.Request) { r.Header = r.Header.Clone(); copyTo(r.Header, v.header) }); !strings.Contains(a.body, `"io.modelcontextprotocol/tasks":{}`) {
		t.Errorf("the server does not declare tasks: %s", a.body)
	}
}

func copyTo(to, from http.Header) {
	maps.Copy(to, from)
}

// withTasks is another daemon over the same store, where every script is a task at once.
func (s *server) withTasks(users map[string]User) *server {
	s.T.Helper()
	c := s.daemon.cfg
	d, err := New(Config{Host: s.host, Token: testToken, Models: c.Models, Profiles: c.Profiles, Users: users, Scripts: c.Scripts, MCP: MCP{TaskAfter: -1}})
	if err != nil {
		s.T.Fatal(err)
	}
	srv := httptest.NewServer(d.Handler())
	s.T.Cleanup(srv.Close)
	other := *s
	other.url, other.daemon = srv.URL, d
	return &other
}

// TestLongTasks: a script that runs on is a task, which can be cancelled; another daemon over
// the same store knows it.
func TestLongTasks(t *testing.T) {
	first := newServer(t, replay.New())
	s := first.withTasks(nil)
	made := s.run(tasksAlone, `for (;;) await tools.calculator({expression: "1"})`)
	id := made.Result.TaskID
	if made.Result.ResultType != "task" || made.Result.Status != "working" {
		t.Fatalf("%+v", made)
	}
	if r := first.taskGet(tasksAlone, id).Result; r.TaskID != id || r.Status != "working" {
		t.Errorf("another daemon says %+v", r)
	}
	if r := s.task(tasksAlone, "tasks/cancel", id, `{"taskId":"`+id+`"`); r.Error.Code != 0 {
		t.Errorf("%+v", r)
	}
	if r := s.ended(id).Result; r.Status != "cancelled" {
		t.Errorf("%+v", r)
	}
}

// TestTasksAreRequests: a script that a call has left under way is one of its user's
// requests while it runs.
func TestTasksAreRequests(t *testing.T) {
	s := newServer(t, replay.New()).withTasks(map[string]User{"ann": ann(usage.Quota{Concurrent: 1})})
	run := func(code string) mcpTask {
		return s.taskAs(annToken, tasksAlone, "tools/call", "run_script", `{"name":"run_script","arguments":{"code":`+strconv.Quote(code)+`}`)
	}
	id := run(`for (;;) await tools.calculator({expression: "1"})`).Result.TaskID
	if r := run("return 1"); id == "" || r.Result.TaskID != "" || len(r.Result.Content) == 0 || !strings.Contains(r.Result.Content[0].Text, "concurrent requests") {
		t.Errorf("beside a script of hers: %+v", r)
	}
	s.taskAs(annToken, tasksAlone, "tasks/cancel", id, `{"taskId":"`+id+`"`)
	testtime.Until(t, "the script is no request any more", func() bool { return s.daemon.meter.Running("ann") == 0 })
	if r := run("return 1"); r.Error.Code != 0 || r.Result.TaskID == "" {
		t.Errorf("afterwards: %+v", r)
	}
}
