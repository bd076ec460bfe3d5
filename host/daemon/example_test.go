package daemon_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon"
)

// serve returns a server with a model that gives one answer, and no tools of plugins.
func serve(answer string) (base string, stop func(), err error) {
	dir, err := os.MkdirTemp("", "weir-example-")
	if err != nil {
		return "", nil, err
	}
	h, err := host.Open(context.Background(), host.Config{
		Settings: host.Settings{Archive: archive.Config{Path: filepath.Join(dir, "archive.db")}},
		CacheDir: filepath.Join(dir, "cache"),
	})
	if err != nil {
		return "", nil, err
	}
	d, err := daemon.New(daemon.Config{
		Host:     h,
		Token:    "secret",
		Models:   map[string]daemon.Model{"scripted": {Model: replay.New(replay.Text(answer))}},
		Profiles: map[string]daemon.Profile{"default": {Model: "scripted", Agent: agent.Defaults()}},
	})
	if err != nil {
		return "", nil, err
	}
	srv := httptest.NewServer(d.Handler())
	return srv.URL, func() {
		srv.Close()
		_ = h.Close()
		_ = os.RemoveAll(dir)
	}, nil
}

func post(url, body string) (string, error) {
	req, err := http.NewRequest("POST", url, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Bearer secret")
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

// A Daemon is an http.Handler: it needs a Host, a model and a profile named default.
// The answer of /api/chat is a stream of events.
func ExampleNew() {
	base, stop, err := serve("Six by seven is 42.")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stop()
	stream, err := post(base+"/api/chat", `{"message": "What is 6 * 7?"}`)
	if err != nil {
		fmt.Println(err)
		return
	}
	for line := range strings.Lines(stream) {
		if name, ok := strings.CutPrefix(line, "event: "); ok && (strings.HasPrefix(name, "chat.") || strings.HasPrefix(name, "message.")) {
			fmt.Print(name)
		}
	}
	// Output:
	// chat.start
	// message.delta
	// chat.end
}

// Clients of OpenAI's protocol use the same models under /v1.
func ExampleDaemon_Handler() {
	base, stop, err := serve("Six by seven is 42.")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stop()
	answer, err := post(base+"/v1/chat/completions", `{"messages": [{"role": "user", "content": "What is 6 * 7?"}]}`)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(strings.Contains(answer, `"content":"Six by seven is 42."`))
	// Output: true
}
