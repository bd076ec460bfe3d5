//go:build wasip1

// Command servlet is a guest made for other hosts: it has no manifest, lists
// its tools by describe and runs them by call, as servlets for mcp.run and
// plugins for the first hyper-mcp do.
package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"

	"github.com/extism/go-pdk"
)

func main() {}

type callRequest struct {
	Method *string `json:"method,omitempty"`
	Params struct {
		Arguments map[string]any `json:"arguments,omitempty"`
		Name      string         `json:"name"`
	} `json:"params"`
}

type content struct {
	Data     *string `json:"data,omitempty"`
	MimeType *string `json:"mimeType,omitempty"`
	Text     *string `json:"text,omitempty"`
	Type     string  `json:"type"`
}

type callResult struct {
	Content []content `json:"content"`
	IsError *bool     `json:"isError,omitempty"`
}

type description struct {
	Description string `json:"description"`
	InputSchema any    `json:"inputSchema"`
	Name        string `json:"name"`
}

type object = map[string]any

//go:wasmexport describe
func describe() int32 {
	text := object{"type": "object", "required": []string{"text"}, "properties": object{"text": object{"type": "string", "description": "what to say"}}}
	none := object{"type": "object", "properties": object{}}
	tools := []description{
		{"Says its text again.", text, "say"},
		{"Fetches a page.", object{"type": "object", "required": []string{"url"}, "properties": object{"url": object{"type": "string"}}}, "fetch-page"},
		{"Tells a price.", object{"type": "object", "required": []string{"url"}, "properties": object{"url": object{"type": "string"}}}, "price"},
		{"Tells what it is configured as.", none, "settings"},
		{"Draws a dot.", none, "draw"},
		{"Fails and says why.", none, "refuse"},
		{"Fails as the PDK does.", none, "fail"},
		{"Answers nothing.", none, "blank"},
		{"Counts in a variable.", none, "count"},
		{"Reads a file.", object{"type": "object", "properties": object{"path": object{"type": "string"}}}, "read"},
	}
	if err := pdk.OutputJSON(object{"tools": tools}); err != nil {
		pdk.SetError(err)
		return -1
	}
	return 0
}

//go:wasmexport call
func call() int32 {
	var in callRequest
	if err := pdk.InputJSON(&in); err != nil {
		pdk.SetError(err)
		return -1
	}
	out, err := run(in)
	if err == nil {
		err = pdk.OutputJSON(out)
	}
	if err != nil {
		pdk.SetError(err)
		return -1
	}
	return 0
}

func run(in callRequest) (callResult, error) {
	arg := func(name string) string { s, _ := in.Params.Arguments[name].(string); return s }
	switch in.Params.Name {
	case "say":
		return said(arg("text")), nil
	case "fetch-page":
		resp := pdk.NewHTTPRequest(pdk.MethodGet, arg("url")).Send()
		return said(fmt.Sprintf("%d %s", resp.Status(), resp.Body())), nil
	case "price": // what the host says of a refusal is lost, as in many plugins
		var page object
		if err := json.Unmarshal(pdk.NewHTTPRequest(pdk.MethodGet, arg("url")).Send().Body(), &page); err != nil {
			return callResult{}, fmt.Errorf("failed to parse response: %w", err)
		}
		return said(fmt.Sprint(page["price"])), nil
	case "settings":
		key, ok := pdk.GetConfig("api-key")
		depth, _ := pdk.GetConfig("depth")
		return said(fmt.Sprintf("api-key=%s %v depth=%s", key, ok, depth)), nil
	case "draw":
		dot, png := base64.StdEncoding.EncodeToString([]byte("\x89PNG dot")), "image/png"
		caption := "a dot"
		return callResult{Content: []content{{Type: "text", Text: &caption}, {Type: "image", Data: &dot, MimeType: &png}}}, nil
	case "read":
		b, err := os.ReadFile(arg("path"))
		return said(string(b)), err
	case "refuse":
		r, yes := said("the well is dry"), true
		r.IsError = &yes
		return r, nil
	case "blank":
		return callResult{Content: []content{}}, nil
	case "count":
		n := pdk.GetVarInt("n") + 1
		pdk.SetVarInt("n", n)
		return said(fmt.Sprint(n)), nil
	}
	return callResult{}, fmt.Errorf("unknown tool %s", in.Params.Name)
}

func said(s string) callResult { return callResult{Content: []content{{Type: "text", Text: &s}}} }
