package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// refuse refuses what a server asks of its client: weir has declared none of it. The SDK
// would answer a request for roots with an empty list.
func (s *Server) refuse(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch method {
		case "elicitation/create", "sampling/createMessage", "roots/list":
			s.asked.Add(1)
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "Method not found"}
		}
		return next(ctx, method, req)
	}
}

// Asked returns how many requests of the server were refused so far.
func (s *Server) Asked() int64 { return s.asked.Load() }

// taskOnly are the names of the tools of a list that run only as tasks, which the SDK does
// not say. It is safe for concurrent use.
type taskOnly struct {
	mu    sync.Mutex
	names map[string]bool
}

func (t *taskOnly) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.names = map[string]bool{}
}

func (t *taskOnly) has(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.names[name]
}

// note reads a message that may be a list of tools.
func (t *taskOnly) note(message []byte) {
	if !bytes.Contains(message, []byte(`"taskSupport"`)) {
		return
	}
	var list struct {
		Result struct {
			Tools []struct {
				Name      string
				Execution struct{ TaskSupport string }
			}
		}
	}
	if json.Unmarshal(message, &list) != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, one := range list.Result.Tools {
		if one.Execution.TaskSupport == "required" {
			t.names[one.Name] = true
		}
	}
}
