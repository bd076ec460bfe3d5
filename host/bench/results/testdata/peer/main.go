// Command peer is the same tool as testdata/report on the server of mark3labs/mcp-go:
// a plain handler, which limits and keeps nothing.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

const line = "2026-01-02 03:04:05 INFO request handled by the worker \"main\" in 12 ms, number "

func main() {
	s := server.NewMCPServer("peer", "1")
	s.AddTool(mcp.NewTool("report", mcp.WithDescription("Returns a log of a wanted length"),
		mcp.WithNumber("number", mcp.Required()), mcp.WithNumber("bytes", mcp.Required())), report)
	if err := server.ServeStdio(s); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func report(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	number, n := strconv.Itoa(r.GetInt("number", 0)), r.GetInt("bytes", 0)
	text := strings.Repeat(line+number+"\n", n/(len(line)+len(number)+1)+1)
	return mcp.NewToolResultText(text[:n]), nil
}
