//go:build !wasip1

package guest

import (
	"encoding/json"
	"io/fs"
	"os"
	"strconv"

	"github.com/weirhost/weir/sdk/tool"
)

// Run is the body of a tool's export. Outside a Wasm guest there is no host
// to talk to: it says so on standard error and returns 1. Tests use Invoke.
func Run[A any](Func[A]) int32 {
	os.Stderr.WriteString("this tool runs inside a Wasm host; in Go tests call it with guest.Invoke\n")
	return 1
}

// Options is the host that Invoke pretends to be.
type Options struct {
	// Config holds the plugin's settings.
	Config map[string]string
	// Limits that the tool sees: MaxChars and MaxLines, 0 for the defaults.
	Limits tool.Limits
	// Locale is the conversation's language; empty: English.
	Locale tool.Locale
	// FS maps guest paths to folders. A path that is not there was not granted.
	FS map[string]fs.FS
	// HTTP answers requests; nil: every request is denied. An error that is
	// no *tool.Error reaches the tool with code failed.
	HTTP func(Request) (Response, error)
}

// Output is what a call gave, as a host reads it back from the wire form.
type Output struct {
	Result
	// Raw is the output itself, JSON.
	Raw []byte
	// Progress and Logs are what the tool sent on the way.
	Progress []Progress
	Logs     []string
}

// Invoke runs a tool natively on arguments written in JSON, through the same
// decoding and encoding as in a guest. The error is what the tool failed
// with, always a *tool.Error.
func Invoke[A any](fn Func[A], args string, o Options) (Output, error) {
	n := &native{o: o}
	raw := encode(run(&Call{env: n}, fn, []byte(args)))
	n.out.Raw = raw
	var w wire
	if err := json.Unmarshal(raw, &w); err != nil {
		return n.out, Errorf(tool.Failed, "", "The output is not JSON: %v.", err)
	}
	if w.Error != nil {
		return n.out, w.Error
	}
	n.out.Result = w.result()
	return n.out, nil
}

// wire is what encode writes: an MCP tool result with our additions.
type wire struct {
	Content []part        `json:"content"`
	Sources []tool.Source `json:"sources,omitempty"`
	More    *tool.More    `json:"more,omitempty"`
	Entries *tool.Entries `json:"entries,omitempty"`
	IsError bool          `json:"isError"`
	Error   *tool.Error   `json:"error,omitempty"`
}

// result reads a wire form back; the first text is the whole text.
func (w wire) result() Result {
	r := Result{Sources: w.Sources, More: w.More, Entries: w.Entries}
	for _, p := range w.Content {
		switch {
		case p.Type == "text" && p.Text != nil:
			r.Text += *p.Text
		case p.Resource != nil:
			r.Parts = append(r.Parts, tool.Blob{Name: p.Resource.URI[len("part:"):], MIME: p.Resource.MIME, Data: p.Resource.Blob})
		default:
			r.Parts = append(r.Parts, tool.Blob{Name: p.Name, MIME: p.MIME, Data: p.Data})
		}
	}
	return r
}

// native is the env of Invoke.
type native struct {
	o   Options
	out Output
}

func (n *native) config(key string) (string, bool) {
	switch limits := n.o.Limits; {
	case key == keyMaxChars && limits.MaxChars != 0:
		return strconv.Itoa(limits.MaxChars), true
	case key == keyMaxLines && limits.MaxLines != 0:
		return strconv.Itoa(limits.MaxLines), true
	case key == keyLocale && n.o.Locale != "":
		return string(n.o.Locale), true
	}
	v, ok := n.o.Config[key]
	return v, ok
}

func (n *native) progress(message []byte) {
	var p Progress
	if json.Unmarshal(message, &p) == nil {
		n.out.Progress = append(n.out.Progress, p)
	}
}

func (n *native) log(_ Level, message string) { n.out.Logs = append(n.out.Logs, message) }

func (n *native) http(request []byte) ([]byte, error) {
	var r Request
	if err := json.Unmarshal(request, &r); err != nil {
		return nil, err
	}
	if n.o.HTTP == nil {
		return marshal(httpAnswer{Error: tool.Errorf(tool.Denied, "", "No network is granted.")})
	}
	resp, err := n.o.HTTP(r)
	a := httpAnswer{Response: resp}
	if err != nil {
		a.Error = failure(err)
	}
	return marshal(a)
}

func (n *native) dir(guestPath string) fs.FS {
	if f, ok := n.o.FS[guestPath]; ok {
		return f
	}
	return ungranted{}
}

// ungranted is a folder that the operator did not grant.
type ungranted struct{}

func (ungranted) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}
