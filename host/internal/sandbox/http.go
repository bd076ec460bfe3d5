package sandbox

import (
	"encoding/json"
	"math"
	"net/http"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/weirhost/weir/host/internal/egress"
	"github.com/weirhost/weir/sdk/tool"
)

// The wire forms of the host functions; docs/abi.md describes them.
type (
	wireRequest struct {
		Method  string            `json:"method"`
		URL     string            `json:"url"`
		Headers map[string]string `json:"headers"`
		Body    []byte            `json:"body"`
		Timeout int               `json:"timeout_seconds"`
	}
	wireResponse struct {
		Status  int               `json:"status,omitempty"`
		URL     string            `json:"url,omitempty"`
		Headers map[string]string `json:"headers,omitempty"`
		Body    []byte            `json:"body,omitempty"`
		Error   *tool.Error       `json:"error,omitempty"`
	}
	wireProgress struct {
		Done    int    `json:"done"`
		Total   int    `json:"total"`
		Message string `json:"message"`
	}
)

// request sends through the call's egress policy, if there is one. fail is for the
// guest; err says that the call has ended meanwhile.
func (h *host) request(r egress.Request) (resp egress.Response, fail *tool.Error, err error) {
	var client Sender
	h.env.note(func() { client = h.env.http })
	if client == nil {
		return resp, tool.Errorf(tool.Denied, "the operator can grant hosts to it", "this tool has no network access"), nil
	}
	resp, fail = client.Do(h.env.span.context(), r)
	if h.env.span.over() {
		err = errOver
	}
	return resp, fail, err
}

// weirHTTP(request) → response. Failures are responses that the guest handles.
func weirHTTP(h *host, stack []uint64) error {
	raw, err := h.read(stack[0], maxRequest)
	if err != nil {
		return err
	}
	var req wireRequest
	var resp wireResponse
	if err := json.Unmarshal(raw, &req); err != nil {
		resp.Error = tool.Errorf(tool.BadArgs, `write {"method","url","headers","body"} with the body in base64`, "the request is not valid JSON")
	} else if r, fail, err := h.request(egress.Request{Method: req.Method, URL: req.URL, Headers: req.Headers, Body: req.Body, TimeoutSeconds: req.Timeout}); err != nil {
		return err
	} else if fail != nil {
		resp.Error = fail
	} else {
		resp = wireResponse{Status: r.Status, URL: r.URL, Headers: r.Headers, Body: r.Body}
	}
	out, err := json.Marshal(resp)
	if err != nil {
		return err
	}
	stack[0], err = h.write(out)
	return err
}

// weirProgress(report). An unreadable report is dropped: progress never fails a call.
func weirProgress(h *host, stack []uint64) error {
	raw, err := h.take(stack[0], maxMessage)
	if err != nil {
		return err
	}
	var p wireProgress
	if json.Unmarshal(raw, &p) == nil {
		h.report(max(p.Done, 0), max(p.Total, 0), p.Message)
	}
	return nil
}

// report passes a guest's progress on, up to maxReports times.
func (h *host) report(done, total int, msg string) {
	var report func(int, int, string)
	h.env.note(func() {
		if h.env.reports++; h.env.reports <= maxReports {
			report = h.env.progress
		}
	})
	if report != nil {
		report(done, total, printable(msg, maxProgress))
	}
}

// levels are the log levels that guests count from 0, trace, to 4, error.
var levels = [...]hclog.Level{hclog.Trace, hclog.Debug, hclog.Info, hclog.Warn, hclog.Error}

// weirLog(level, message). An unknown level counts as the nearest one.
func weirLog(h *host, stack []uint64) error {
	level := levels[min(max(int32(stack[0]), 0), int32(len(levels)-1))]
	return h.logBlock(level, stack[1])
}

func extismLog(level hclog.Level) hostFunc {
	return func(h *host, stack []uint64) error { return h.logBlock(level, stack[0]) }
}

func (h *host) logBlock(level hclog.Level, offset uint64) error {
	b, err := h.take(offset, maxMessage)
	if err == nil {
		h.env.lines.write(level, "log", string(b))
	}
	return err
}

// extismLogLevel() → level returns the lowest level that is logged.
func extismLogLevel(h *host, stack []uint64) error {
	stack[0] = math.MaxInt32
	for i, l := range levels {
		if l >= h.env.log.GetLevel() && h.env.log.GetLevel() != hclog.Off {
			stack[0] = uint64(i)
			break
		}
	}
	return nil
}

// extismHTTP(request, body) → body is Extism's own request, under the same policy. It
// cannot return an error, so a refusal is a response: a status, and the sentence as
// its body.
func extismHTTP(h *host, stack []uint64) error {
	raw, err := h.read(stack[0], maxRequest)
	if err != nil {
		return err
	}
	body, err := h.read(stack[1], maxRequest)
	if err != nil {
		return err
	}
	var meta struct {
		Method, URL string
		Headers     map[string]string
	}
	var resp egress.Response
	fail := tool.Errorf(tool.BadArgs, "", "the request is not valid JSON")
	if json.Unmarshal(raw, &meta) == nil {
		if resp, fail, err = h.request(egress.Request{Method: meta.Method, URL: meta.URL, Headers: meta.Headers, Body: body}); err != nil {
			return err
		}
	}
	if fail != nil {
		resp = egress.Response{Status: statusOf(fail.Code), Body: []byte(fail.Error()), Headers: map[string]string{"X-Weir-Error": string(fail.Code)}}
	}
	h.env.note(func() { h.env.last = lastResponse{resp.Status, resp.Headers} })
	stack[0], err = h.write(resp.Body)
	return err
}

func statusOf(code tool.Code) int {
	switch code {
	case tool.Denied:
		return http.StatusForbidden
	case tool.BadArgs:
		return http.StatusBadRequest
	case tool.TooLarge:
		return http.StatusRequestEntityTooLarge
	case tool.TimedOut, tool.Cancelled:
		return http.StatusGatewayTimeout
	}
	return http.StatusBadGateway
}

func extismStatus(h *host, stack []uint64) error {
	h.env.note(func() { stack[0] = uint64(h.env.last.status) })
	return nil
}

func extismHeaders(h *host, stack []uint64) error {
	lower := make(map[string]string)
	h.env.note(func() {
		for k, v := range h.env.last.headers {
			lower[strings.ToLower(k)] = v
		}
	})
	out, err := json.Marshal(lower)
	if err != nil {
		return err
	}
	stack[0], err = h.write(out)
	return err
}
