package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/client"
)

// A program asks the daemon at its default address for its tools.
func ExampleNew() {
	c := client.New("http://127.0.0.1:8420", "the token")
	var list struct {
		Tools []struct{ Plugin string }
	}
	err := c.Get(context.Background(), "/api/tools", &list)
	var p *api.Problem
	switch {
	case errors.As(err, &p):
		fmt.Println(p.Code, p.Msg, p.Hint)
	case err != nil:
		fmt.Println(err)
	default:
		fmt.Println(len(list.Tools), "tools")
	}
}

// A program finds the daemon that runs with a data folder.
func ExampleFind() {
	data := "/home/ann/.local/share/weir/"
	c, address := client.Find(context.Background(), client.Files{Address: data + "daemon.json", Lock: data + "lock", Token: data + "token"})
	if c == nil {
		fmt.Println("no daemon runs")
		return
	}
	fmt.Println("process", address.PID)
	// Output: no daemon runs
}

// A handler is served without a port.
func ExampleInProcess() {
	h := http.NewServeMux()
	h.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"status": "ok", "language": %q}`, r.Header.Get("Accept-Language"))
	})
	c := client.InProcess(h, "token", func() { fmt.Println("closed") })
	c.SetLanguage("zh")
	var health struct{ Status, Language string }
	if err := c.Get(context.Background(), "/healthz", &health); err != nil {
		fmt.Println(err)
	}
	fmt.Println(health.Status, health.Language)
	c.Close()
	// Output:
	// ok zh
	// closed
}

// A program asks a question and prints the answer while it arrives.
func ExampleClient_Ask() {
	h := http.NewServeMux()
	h.HandleFunc("POST /api/chat", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "event: message.delta\ndata: {\"text\":\"Six times seven \"}\n\n")
		fmt.Fprint(w, "event: message.delta\ndata: {\"text\":\"is 42.\"}\n\nevent: chat.end\ndata: {}\n\n")
	})
	c := client.InProcess(h, "token", nil)
	defer c.Close()
	err := c.Ask(context.Background(), api.Ask{Message: "What is 6 * 7?"}, func(name string, data json.RawMessage) error {
		if name != "message.delta" {
			return nil
		}
		var piece api.TextPiece
		if err := json.Unmarshal(data, &piece); err != nil {
			return err
		}
		fmt.Print(piece.Text)
		return nil
	})
	fmt.Println("", err)
	// Output: Six times seven is 42. <nil>
}
