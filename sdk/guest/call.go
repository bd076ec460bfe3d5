package guest

import (
	"encoding/json"
	"errors"
	"io/fs"
	"strconv"

	"github.com/weirhost/weir/sdk/tool"
)

// A Func is a tool: arguments in, result or error out. A is a struct whose
// fields carry json tags. The error should come from Errorf; any other error
// is reported with code failed and its own text.
type Func[A any] func(c *Call, args A) (Result, error)

// A Call is one running call and the tool's way to its host. It is valid
// until the tool's function returns and is not safe for concurrent use.
type Call struct{ env env }

// env is the host as a Call sees it: the real one in a Wasm guest, a test's
// options in a native build. Its methods are unexported so that the linker
// drops those that a tool never reaches, and their host imports with them.
type env interface {
	config(key string) (string, bool)
	progress(message []byte)
	log(level Level, message string)
	http(request []byte) ([]byte, error)
	dir(guestPath string) fs.FS
}

// Config keys that the host sets for every call.
const (
	keyMaxChars = "weir.max_chars"
	keyMaxLines = "weir.max_lines"
	keyLocale   = "weir.locale"
)

// Config returns a setting of the plugin's manifest as the operator left it.
// It is false for a key that the manifest does not declare; an empty value may
// look the same.
func (c *Call) Config(key string) (string, bool) { return c.env.config(key) }

// ConfigInt returns a setting as a whole number, or fallback when it is
// absent or no number.
func (c *Call) ConfigInt(key string, fallback int) int {
	s, ok := c.env.config(key)
	n, err := strconv.Atoi(s)
	if !ok || err != nil {
		return fallback
	}
	return n
}

// MaxChars is how many characters of the result the host will show. It is for putting
// first what matters most, not for leaving out what there is: the host cuts, and keeps
// the whole. A host that does not say leaves the default of 8,000.
func (c *Call) MaxChars() int { return c.limit(keyMaxChars, tool.DefaultMaxChars) }

// MaxLines is how many lines of the result the host will show. A host that
// does not say leaves the default of 500.
func (c *Call) MaxLines() int { return c.limit(keyMaxLines, tool.DefaultMaxLines) }

func (c *Call) limit(key string, fallback int) int {
	if n := c.ConfigInt(key, fallback); n > 0 {
		return n
	}
	return fallback
}

// Say picks the wording for the language of the conversation. A host that
// does not say which it is gets English.
func (c *Call) Say(en, zh string) string {
	if c.locale() == tool.Zh {
		return zh
	}
	return en
}

func (c *Call) locale() tool.Locale {
	s, _ := c.env.config(keyLocale)
	return tool.Locale(s)
}

// FS is a folder that the operator granted, by the guest path of the
// manifest, for example "/workspace". Reading from a folder that was not
// granted fails with an error that satisfies fs.ErrNotExist or a system error.
func (c *Call) FS(guestPath string) fs.FS { return c.env.dir(guestPath) }

// Progress tells whoever waits how far a long call is. Units are the tool's
// own; total 0 means that it is not known. A message that cannot be delivered
// is dropped: it changes nothing of what the tool answers.
func (c *Call) Progress(done, total int, message string) {
	if b, err := json.Marshal(Progress{done, total, message}); err == nil {
		c.env.progress(b)
	}
}

// Progress is one message that Call.Progress sent.
type Progress struct {
	Done    int    `json:"done"`
	Total   int    `json:"total"`
	Message string `json:"message"`
}

// Level is how serious a log line is.
type Level int32

// The levels of Call.Log, as the host numbers them.
const (
	Trace Level = iota
	Debug
	Info
	Warn
	Error
)

// Log writes a line to the host's log, under the plugin's name. The model
// never sees it.
func (c *Call) Log(level Level, message string) { c.env.log(level, message) }

// Ready makes calls of a tool several times faster if its arguments contain lists or
// objects. Write it after the tool's export:
//
//	var _ = guest.Ready(read)
//
// Every call begins with the memory in its state after the guest's start. Without
// Ready, encoding/json analyses the type A in every call. Ready decodes an empty
// object once, at the start; it does not call fn. Strings, numbers and booleans are
// read without encoding/json.
func Ready[A any](Func[A]) bool {
	var args A
	return json.Unmarshal([]byte("{}"), &args) == nil
}

// run runs fn on the raw arguments.
func run[A any](c *Call, fn Func[A], raw []byte) (Result, error) {
	var args A
	if err := decodeArgs(raw, &args); err != nil {
		return Result{}, c.translated(err)
	}
	r, err := fn(c, args)
	r.Text = r.Text[:min(len(r.Text), tool.MaxWhole+1)] // a byte more tells the host that there is more
	return r, c.translated(err)
}

// translated returns err in the language of the conversation, where it has a wording
// in it.
func (c *Call) translated(err error) error {
	e, ok := errors.AsType[*tool.Error](err)
	if !ok || e.MsgText.Zh == "" {
		return err
	}
	out := *e
	out.Msg, out.Hint = e.In(c.locale())
	return &out
}
