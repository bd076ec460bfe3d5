package app

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/client"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/internal/testtime"
)

func TestMain(m *testing.M) {
	if code, ok := host.WorkerMain(); ok {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

const written = "eight hundred numbered lines, by the small model"

// modelServer is an OpenAI-compatible server with three models. The first calls
// long_text once, the second writes summaries, the third finds all texts alike.
type modelServer struct {
	mu    sync.Mutex
	asked []string // bodies of requests to the first model
}

func (s *modelServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	body := string(raw)
	switch {
	case strings.HasSuffix(r.URL.Path, "/embeddings"):
		var in struct{ Input []string }
		_ = json.Unmarshal(raw, &in)
		var data []string
		for i := range in.Input {
			data = append(data, fmt.Sprintf(`{"index":%d,"embedding":[1,0]}`, i))
		}
		fmt.Fprintf(w, `{"data":[%s]}`, strings.Join(data, ","))
	case !strings.HasSuffix(r.URL.Path, "/chat/completions"):
		http.NotFound(w, r)
	case strings.Contains(body, `"model":"small"`):
		say(w, written)
	default:
		s.mu.Lock()
		s.asked = append(s.asked, body)
		first := len(s.asked) == 1
		s.mu.Unlock()
		if first {
			say(w, `<tool_call>{"name":"long_text","arguments":{}}</tool_call>`)
		} else {
			say(w, "done")
		}
	}
}

func say(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/event-stream")
	quoted, _ := json.Marshal(text)
	fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":%s}}]}\n\ndata: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", quoted)
}

// TestModelsOfTheArchive: [archive] summary_model writes the summary that a later
// turn's placeholder shows, and embedding_model lets a search find a result that
// contains none of its words.
func TestModelsOfTheArchive(t *testing.T) {
	models := new(modelServer)
	srv := httptest.NewServer(models)
	t.Cleanup(srv.Close)
	dir := t.TempDir()
	file := filepath.Join(dir, "tools.toml")
	text := fmt.Sprintf(`
[agent]
model = "large"
[models.large]
provider = "openai"
base_url = %[1]q
model = "large"
native_tools = false
window = 100000
embedding_model = "meaning"
[models.small]
provider = "openai"
base_url = %[1]q
model = "small"
native_tools = false
window = 100000
[archive]
summary_model = "small"
[[plugins.folder]]
path = %[2]q
trust = "granted"
`, srv.URL+"/v1", guesttest.Shipped(t, "long_text"))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := Open(t.Context(), Options{Source: config.Source{Config: file, Data: filepath.Join(dir, "data"), Workspace: dir}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	edge := httptest.NewServer(a.Daemon.Handler())
	t.Cleanup(edge.Close)
	c := client.New(edge.URL, a.Token)

	conversation := askOnce(t, c, "", "make a long text")
	var list api.ArchiveList
	await(t, &list, func() bool {
		err := c.Get(t.Context(), "/api/archives", &list)
		return err == nil && len(list.Archives) == 1 && strings.Contains(list.Archives[0].Summary, written)
	})
	askOnce(t, c, conversation, "and what was in it?")
	models.mu.Lock()
	last := models.asked[len(models.asked)-1]
	models.mu.Unlock()
	if !strings.Contains(last, written) || !strings.Contains(last, list.Archives[0].UUID) {
		t.Errorf("the next turn does not show the summary of the model:\n%s", last)
	}
	var found api.Found
	await(t, &found, func() bool {
		err := c.Get(t.Context(), "/api/archives/search?q=vessel", &found)
		return err == nil && len(found.Hits) > 0
	})
	if found.Hits[0].UUID != list.Archives[0].UUID {
		t.Errorf("found %+v", found.Hits)
	}
}

// askOnce asks one question and returns its conversation.
func askOnce(t *testing.T, c *client.Client, conversation, question string) string {
	t.Helper()
	err := c.Ask(t.Context(), api.Ask{Message: question, Conversation: conversation}, func(name string, data json.RawMessage) error {
		var start api.ChatStart
		if name != "chat.start" {
			return nil
		}
		err := json.Unmarshal(data, &start)
		conversation = start.Conversation
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return conversation
}

// await returns when done reports true, which another goroutine makes so. It shows
// what was seen if that does not happen.
func await(t *testing.T, seen any, done func() bool) {
	t.Helper()
	if !testtime.Comes(done) {
		t.Fatalf("it did not come: %+v", seen)
	}
}
