package mcpclient

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// taskLister is a program that lists a tool which runs only as a task, and that asks for
// roots before it answers a call.
func taskLister() int {
	in, calls := bufio.NewScanner(os.Stdin), json.RawMessage("0")
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Error  struct{ Message string }
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		answer := func(id json.RawMessage, result string) {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result)
		}
		switch m.Method {
		case "initialize":
			answer(m.ID, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"tasks","version":"1"}}`)
		case "tools/list":
			answer(m.ID, `{"tools":[{"name":"slow","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}},{"name":"both","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}}]}`)
		case "tools/call":
			calls = m.ID
			fmt.Println(`{"jsonrpc":"2.0","id":"r1","method":"roots/list"}`)
		case "": // the answer about roots
			text, _ := json.Marshal(m.Error.Message) // a text marshals
			answer(calls, fmt.Sprintf(`{"content":[{"type":"text","text":%s}]}`, text))
		default:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`+"\n", m.ID)
		}
	}
	return 0
}

// A tool that runs only as a task could only fail; what a server asks of its client is
// refused, and counted.
func TestTasksAndQuestions(t *testing.T) {
	s := program(t, "tasks", nil)
	ready(t, s)
	st := s.Status()
	if len(st.Tools) != 1 || st.Tools[0].Name != "both" || len(st.Notes) != 1 || !strings.Contains(st.Notes[0].String(), `"slow" runs only as a task`) {
		t.Errorf("tools %+v, notes %v", st.Tools, st.Notes)
	}
	if got := call(t, s, "both", `{}`); !strings.Contains(got, "ethod not found") || s.Asked() != 1 {
		t.Errorf("%s; %d asked", got, s.Asked())
	}
}

// The same over HTTP, where a list is one JSON body.
func TestTasksOverHTTP(t *testing.T) {
	url := oddServer(t, func(method string, _ json.RawMessage) (string, int) {
		if method != "tools/list" {
			return "", 0
		}
		return `{"tools":[{"name":"slow","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}]}`, 0
	})
	s := Open(Config{Name: "tasks", URL: url})
	defer s.Close()
	ready(t, s)
	if st := s.Status(); len(st.Tools) != 0 || len(st.Notes) != 1 {
		t.Errorf("tools %+v, notes %v", st.Tools, st.Notes)
	}
}
