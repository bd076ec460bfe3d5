// Command peer does with cloudwego/eino what benchloop's own server does: a
// question comes as OpenAI's protocol has it, an instant model calls one trivial
// tool and answers, the answer goes out as server-sent events. The tool is a plain
// function, and nothing is stored.
//
// It is a module of its own, so that eino is nothing that weir depends on. sonic
// is newer than eino asks for: its own does not build with Go 1.26.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"
)

func main() {
	agent, err := react.NewAgent(context.Background(), &react.AgentConfig{
		ToolCallingModel: instant{}, ToolsConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{echo{}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(l.Addr())
	srv := &http.Server{Handler: server{agent}}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // until whoever started it is gone
		_ = srv.Close()
	}()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
}

type server struct{ agent *react.Agent }

type message struct {
	Role    schema.RoleType `json:"role"`
	Content string          `json:"content"`
}

type delta struct {
	Content string `json:"content"`
}

type choice struct {
	Index int   `json:"index"`
	Delta delta `json:"delta"`
}

type chunk struct {
	Object  string   `json:"object"`
	Choices []choice `json:"choices"`
}

func (s server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct{ Messages []message }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var in []*schema.Message
	for _, m := range body.Messages {
		in = append(in, &schema.Message{Role: m.Role, Content: m.Content})
	}
	out, err := s.agent.Stream(r.Context(), in)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer out.Close()
	w.Header().Set("Content-Type", "text/event-stream")
	for {
		m, err := out.Recv()
		if err != nil {
			break
		}
		b, _ := json.Marshal(chunk{"chat.completion.chunk", []choice{{0, delta{m.Content}}}})
		fmt.Fprintf(w, "data: %s\n\n", b)
		_ = http.NewResponseController(w).Flush()
	}
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

// instant calls echo, and then answers.
type instant struct{}

func (instant) Generate(_ context.Context, in []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	if in[len(in)-1].Role == schema.Tool {
		return schema.AssistantMessage("It said hello.", nil), nil
	}
	return schema.AssistantMessage("", []schema.ToolCall{{ID: "call_1", Type: "function", Function: schema.FunctionCall{Name: "echo", Arguments: `{"text":"hello"}`}}}), nil
}

func (m instant) Stream(ctx context.Context, in []*schema.Message, o ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	one, err := m.Generate(ctx, in, o...)
	return schema.StreamReaderFromArray([]*schema.Message{one}), err
}

func (m instant) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return m, nil }

// echo gives its arguments back.
type echo struct{}

func (echo) Info(context.Context) (*schema.ToolInfo, error) {
	return &schema.ToolInfo{Name: "echo", Desc: "Hands back its arguments", ParamsOneOf: schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{
		"text": {Type: schema.String, Required: true},
	})}, nil
}

func (echo) InvokableRun(_ context.Context, args string, _ ...tool.Option) (string, error) {
	return args, nil
}
