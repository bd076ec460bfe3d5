package worker

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/weirhost/weir/sdk/tool"
)

// A kind says what a frame is about.
type kind byte

// The frames. A parent sends the first three, a child the others.
const (
	kindLoad     kind = iota + 1 // loadMeta; the module
	kindCall                     // callMeta; the input
	kindResponse                 // responseMeta; the body
	kindReady                    // readyMeta
	kindStarted                  // no more than that the call has begun
	kindResult                   // resultMeta; the output
	kindProgress                 // progressMeta
	kindLog                      // logMeta
	kindRequest                  // requestMeta; the body
)

// A frame is its kind, a small part in JSON and bytes as they are. On the wire:
// one byte, the two lengths as 32 bits each, low byte first, and the two parts.
type frame struct {
	kind kind
	meta []byte
	data []byte
}

const headBytes = 9

// limits are the most bytes that each kind may carry; a kind that is not listed
// is not expected.
type limits map[kind]struct{ meta, data int }

const (
	maxMeta = 1 << 20   // bytes: settings of a tool, headers of a request
	maxText = 128 << 10 // bytes of a log line, a report or an error, as JSON, which may make six of one
	maxBody = 16 << 20  // bytes of an HTTP body, either way
	maxWasm = 1 << 30   // bytes; what the registry reads is far below
	maxCall = 32 << 20  // bytes of input, more than the sandbox takes
)

// fromParent is what a child expects.
var fromParent = limits{kindLoad: {maxMeta, maxWasm}, kindCall: {maxMeta, maxCall}, kindResponse: {maxMeta, maxBody}}

// fromChild is what a parent expects from a call whose output may have so many
// bytes; it makes one for each call.
func fromChild(output int) limits {
	return limits{
		kindStarted: {2, 0}, kindLog: {maxText, 0}, kindProgress: {maxText, 0},
		kindResult: {maxText, output}, kindRequest: {maxMeta, maxBody},
	}
}

// errFrame says that the other side broke the rules.
var errFrame = errors.New("a frame that does not fit the protocol")

// read reads one frame. Nothing is allocated before its length is known to be
// within the limits.
func read(r *bufio.Reader, allowed limits) (frame, error) {
	var head [headBytes]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return frame{}, err
	}
	f := frame{kind: kind(head[0])}
	meta, data := binary.LittleEndian.Uint32(head[1:]), binary.LittleEndian.Uint32(head[5:])
	most, ok := allowed[f.kind]
	if !ok || uint64(meta) > uint64(most.meta) || uint64(data) > uint64(most.data) {
		return frame{}, fmt.Errorf("%w: kind %d with %d and %d bytes", errFrame, f.kind, meta, data)
	}
	f.meta = make([]byte, meta)
	if _, err := io.ReadFull(r, f.meta); err != nil {
		return frame{}, err
	}
	if data > 0 {
		f.data = make([]byte, data)
		if _, err := io.ReadFull(r, f.data); err != nil {
			return frame{}, err
		}
	}
	return f, nil
}

// open decodes a frame's small part.
func open[T any](f frame) (v T, err error) {
	if err := json.Unmarshal(f.meta, &v); err != nil {
		return v, fmt.Errorf("%w: kind %d is not readable", errFrame, f.kind)
	}
	return v, nil
}

// A writer writes whole frames; several goroutines may use it.
type writer struct {
	mu  sync.Mutex
	w   io.Writer
	buf []byte
}

// smallData is what is copied behind its head to be written in one go.
const smallData = 32 << 10

func (w *writer) write(k kind, meta any, data []byte) error {
	text, err := json.Marshal(meta)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf = append(w.buf[:0], byte(k))
	w.buf = binary.LittleEndian.AppendUint32(w.buf, uint32(len(text)))
	w.buf = binary.LittleEndian.AppendUint32(w.buf, uint32(len(data)))
	w.buf = append(w.buf, text...)
	if len(data) <= smallData {
		w.buf, data = append(w.buf, data...), nil
	}
	if _, err := w.w.Write(w.buf); err != nil || len(data) == 0 {
		return err
	}
	_, err = w.w.Write(data)
	return err
}

// The small parts of the frames.
type (
	loadMeta struct {
		Plugin string // its name, for errors
		Engine string // of the sandbox
		// Exports are those that will be called, Memory the cap of each linear
		// memory in bytes.
		Exports []string
		Memory  int64
		Cache   string // folder of compiled code
		// Compile makes the child compile the module into the cache and end; Checked
		// is for code with loop checks.
		Compile, Checked bool
		Spares           int
		LogLevel         int
		Mounts           []mountMeta // in the order of the inherited descriptors
		Bounds           bounds
	}
	mountMeta struct {
		Guest, Host string
		Write       bool
		Hide, Keep  []string
	}
	callMeta struct {
		Export             string
		MaxChars, MaxLines int
		Config             map[string]string
		MaxOutput          int
		HTTP, Progress     bool // whether anybody answers
	}
	responseMeta struct {
		Status  int
		URL     string
		Headers map[string]string
		Error   *tool.Error
	}
	readyMeta struct {
		Refused     string // why the module was not loaded
		NotCompiled bool   // the cache does not hold it
	}
	resultMeta struct {
		Memory, Instance int64 // bytes, nanoseconds
		Relist           bool
		Error            *tool.Error
	}
	progressMeta struct {
		Done, Total int
		Message     string
	}
	logMeta struct {
		Level   int
		Message string
		Args    []string // keys and values
	}
	requestMeta struct {
		Method, URL string
		Headers     map[string]string
	}
)

// bounds are what the kernel holds a child to.
type bounds struct {
	Data  int64 // bytes of writable memory of its own; 0: none
	CPU   int64 // seconds of CPU time; 0: none
	Files int64 // open descriptors; 0: none
}
