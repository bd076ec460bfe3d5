//go:build wasip1

// Command hyper is a guest made for hyper-mcp's second plugin ABI: it has no
// manifest, lists its tools by list_tools, runs them by call_tool, and imports
// everything that its own host offers.
package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/extism/go-pdk"
)

func main() {}

//go:wasmimport extism:host/user create_elicitation
func createElicitation(uint64) uint64

//go:wasmimport extism:host/user create_message
func createMessage(uint64) uint64

//go:wasmimport extism:host/user get_access_token
func getAccessToken(uint64) uint64

//go:wasmimport extism:host/user get_keyring_secret
func getKeyringSecret(uint64) uint64

//go:wasmimport extism:host/user list_roots
func listRoots() uint64

//go:wasmimport extism:host/user notify_logging_message
func notifyLoggingMessage(uint64)

//go:wasmimport extism:host/user notify_progress
func notifyProgress(uint64)

//go:wasmimport extism:host/user notify_prompt_list_changed
func notifyPromptListChanged()

//go:wasmimport extism:host/user notify_resource_list_changed
func notifyResourceListChanged()

//go:wasmimport extism:host/user notify_resource_updated
func notifyResourceUpdated(uint64)

//go:wasmimport extism:host/user notify_tool_list_changed
func notifyToolListChanged()

//go:wasmimport extism:host/user notify_url_elicitation_completed
func notifyURLElicitationCompleted(uint64)

type requestContext struct {
	ID   any            `json:"id"`
	Meta map[string]any `json:"_meta"`
}

type callRequest struct {
	Context requestContext `json:"context"`
	Request struct {
		Arguments map[string]any `json:"arguments,omitempty"`
		Name      string         `json:"name"`
	} `json:"request"`
}

type object = map[string]any

//go:wasmexport list_tools
func listTools() int32 {
	var in struct {
		Context requestContext `json:"context"`
	}
	if err := pdk.InputJSON(&in); err != nil || in.Context.ID == nil || in.Context.Meta == nil {
		pdk.SetErrorString(fmt.Sprintf("the input is not what the host sends: %v %s", err, pdk.Input()))
		return -1
	}
	none := object{"type": "object"}
	tool := func(name, text string) object {
		return object{"name": name, "title": strings.ToUpper(name), "description": text, "inputSchema": none,
			"annotations": object{"readOnlyHint": true}, "outputSchema": none}
	}
	if err := pdk.OutputJSON(object{"tools": []object{
		tool("echo", "Returns what it was given."),
		tool("notify", "Notifies about everything."),
		tool("ask", "Asks its host for what it may not have."),
		tool("price", "Tells a price."),
		tool("parts", "Answers in parts of each kind."),
		tool("structured", "Answers in structured content alone."),
		tool("relist", "Says that its list has changed."),
	}}); err != nil {
		pdk.SetError(err)
		return -1
	}
	return 0
}

//go:wasmexport call_tool
func callTool() int32 {
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

func text(s string) object { return object{"type": "text", "text": s} }

func said(s string) object { return object{"content": []object{text(s)}} }

func run(in callRequest) (object, error) {
	switch in.Request.Name {
	case "echo":
		return said(string(pdk.Input())), nil
	case "notify":
		notify(in.Context.Meta["progressToken"])
		return said("done"), nil
	case "ask":
		return said(ask()), nil
	case "parts":
		return parts(), nil
	case "price": // what the host says of a refusal is lost, as in many plugins
		resp := pdk.NewHTTPRequest(pdk.MethodGet, "https://api.coingecko.com/api/v3/simple/price").Send()
		if resp.Status() != 200 {
			return object{"content": []object{text("no price")}, "isError": true}, nil
		}
		return said(string(resp.Body())), nil
	case "structured":
		return object{"_meta": object{"x": 1}, "content": []object{}, "structuredContent": object{"level": 7}}, nil
	case "relist":
		notifyToolListChanged()
		return said("done"), nil
	}
	return nil, fmt.Errorf("unknown tool %s", in.Request.Name)
}

// send passes a value as the PDK's templates do.
func send(f func(uint64), v any) {
	mem, err := pdk.AllocateJSON(v)
	if err != nil {
		panic(err)
	}
	defer mem.Free()
	f(mem.Offset())
}

func notify(token any) {
	send(notifyLoggingMessage, object{"level": "warning", "logger": "river", "data": object{"level": 3}})
	send(notifyLoggingMessage, object{"level": "info", "data": "plain words"})
	send(notifyLoggingMessage, object{"level": "no such level", "data": nil})
	send(notifyLoggingMessage, "not even an object")
	send(notifyProgress, object{"progressToken": token, "progress": 0.25, "total": 1, "message": "a quarter"})
	send(notifyProgress, object{"progressToken": token, "progress": 3, "total": 4})
	send(notifyProgress, []int{1})
	notifyPromptListChanged()
	notifyResourceListChanged()
	send(notifyResourceUpdated, object{"uri": "file:///x"})
	send(notifyURLElicitationCompleted, object{"elicitationId": "e1"})
}

func ask() string {
	var out []string
	request := func(f func(uint64) uint64, v, into any) string {
		offset := uint64(0)
		send(func(o uint64) { offset = f(o) }, v)
		if err := pdk.JSONFrom(offset, into); err != nil {
			return err.Error()
		}
		b, _ := json.Marshal(into)
		return string(b)
	}
	out = append(out, request(createElicitation, object{"mode": "form", "message": "who?", "requestedSchema": object{}}, &struct {
		Action  string            `json:"action"`
		Content map[string]string `json:"content"`
	}{}))
	out = append(out, request(createMessage, object{"maxTokens": 10, "messages": []object{}}, &struct {
		Role       string `json:"role"`
		Content    object `json:"content"`
		Model      string `json:"model"`
		StopReason string `json:"stopReason"`
	}{}))
	out = append(out, request(getAccessToken, object{"client_id": "me", "token_endpoint_url": "https://example.com"}, &struct {
		Error string
	}{}))
	var secret uint64
	send(func(o uint64) { secret = getKeyringSecret(o) }, object{"service": "bank", "user": "me"})
	mem := pdk.FindMemory(secret)
	out = append(out, fmt.Sprintf("secret of %d bytes", len(mem.ReadBytes())))
	var roots struct {
		Roots []object `json:"roots"`
	}
	if err := pdk.JSONFrom(listRoots(), &roots); err != nil {
		out = append(out, err.Error())
	}
	return strings.Join(append(out, fmt.Sprintf("%d roots", len(roots.Roots))), "\n")
}

func parts() object {
	return object{
		"content": []object{
			text("one"),
			{"type": "image", "data": "iVBORw==", "mimeType": "image/png"},
			{"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"},
			{"type": "resource", "resource": object{"uri": "file:///notes.txt", "mimeType": "text/plain", "text": "the notes"}},
			{"type": "resource", "resource": object{"uri": "file:///blob.bin", "blob": "AAEC"}},
			{"type": "resource_link", "uri": "https://example.com/dams", "name": "dams", "title": "Dams"},
		},
		"structuredContent": object{"level": 7},
	}
}
