package guest

import (
	"encoding/json"
	"strings"

	"github.com/weirhost/weir/sdk/tool"
)

// A Request goes out through the host, which decides whether the tool may
// reach that address and adds the secrets that the manifest declares. The
// tool never sees them.
type Request struct {
	Method  string            `json:"method"` // empty: GET
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    []byte            `json:"body,omitempty"`
	// TimeoutSeconds is how long the host waits for the answer; 0: 10 seconds. The
	// call's deadline, the manifest's timeout, ends it in any case.
	TimeoutSeconds int `json:"timeout_seconds,omitempty"`
}

// A Response is what came back, whatever its status.
type Response struct {
	Status  int               `json:"status"`
	URL     string            `json:"url"` // after redirects
	Headers map[string]string `json:"headers,omitempty"`
	Body    []byte            `json:"body,omitempty"`
}

// Header returns a header's value, its name in any case; "" when it is absent.
func (r Response) Header(name string) string {
	if v, ok := r.Headers[name]; ok {
		return v
	}
	for k, v := range r.Headers {
		if strings.EqualFold(k, name) {
			return v
		}
	}
	return ""
}

type httpAnswer struct {
	Response
	Error *tool.Error `json:"error,omitempty"`
}

// HTTP sends a request. The error is a *tool.Error: denied when the operator
// did not grant the host, timed_out, too_large or failed when the network did
// not answer. A status of 400 or more is no error.
func (c *Call) HTTP(r Request) (Response, error) {
	if r.Method == "" {
		r.Method = "GET"
	}
	b, err := marshal(r)
	if err != nil {
		return Response{}, Errorf(tool.Failed, "", "The request cannot be written: %v.", err).Zh("", "请求无法写出：%v。")
	}
	if b, err = c.env.http(b); err != nil {
		return Response{}, err
	}
	var a httpAnswer
	if err := json.Unmarshal(b, &a); err != nil {
		return Response{}, Errorf(tool.Failed, "", "The host's answer to a request could not be read.").Zh("", "无法读取宿主对请求的答复。")
	}
	if a.Error != nil {
		return Response{}, a.Error
	}
	return a.Response, nil
}
