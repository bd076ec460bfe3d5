package main

import (
	"context"
	"os"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// notesd is an MCP server for the scripts: a program with tools that know no limit.
func notesd() {
	s := mcp.NewServer(&mcp.Implementation{Name: "notesd", Version: "1"}, nil)
	say := func(text string) mcp.ToolHandlerFor[map[string]any, any] {
		return func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
		}
	}
	mcp.AddTool(s, &mcp.Tool{Name: "read_all", Description: "reads every note"}, say(strings.Repeat("a note of some forty characters, or so\n", 1500)))
	mcp.AddTool(s, &mcp.Tool{Name: "key"}, say("key "+os.Getenv("NOTES_KEY")))
	mcp.AddTool(s, &mcp.Tool{Name: "wipe"}, say("wiped"))
	mcp.AddTool(s, &mcp.Tool{Name: "level"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, struct {
		Metres float64 `json:"metres"`
	}, error) {
		return nil, struct {
			Metres float64 `json:"metres"`
		}{8.5}, nil
	})
	s.AddPrompt(&mcp.Prompt{Name: "summary"}, nil)
	if s.Run(context.Background(), &mcp.StdioTransport{}) != nil {
		os.Exit(1)
	}
}
