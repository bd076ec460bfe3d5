package guest

import (
	"encoding/binary"
	"io/fs"
	"os"

	"github.com/weirhost/weir/sdk/tool"
)

// An offset points into the host's memory for this call; 0 is no memory.
type offset uint64

//go:wasmimport extism:host/env input_length
func inputLength() uint64

//go:wasmimport extism:host/env input_load_u8
func inputLoadU8(at offset) uint32

//go:wasmimport extism:host/env input_load_u64
func inputLoadU64(at offset) uint64

//go:wasmimport extism:host/env output_set
func outputSet(at offset, length uint64)

//go:wasmimport extism:host/env error_set
func errorSet(at offset)

//go:wasmimport extism:host/env config_get
func configGet(key offset) offset

//go:wasmimport extism:host/env alloc
func alloc(length uint64) offset

//go:wasmimport extism:host/env free
func release(at offset)

//go:wasmimport extism:host/env length
func length(at offset) uint64

//go:wasmimport extism:host/env load_u8
func loadU8(at offset) uint32

//go:wasmimport extism:host/env load_u64
func loadU64(at offset) uint64

//go:wasmimport extism:host/env store_u8
func storeU8(at offset, v uint32)

//go:wasmimport extism:host/env store_u64
func storeU64(at offset, v uint64)

//go:wasmimport extism:host/user weir_http
func weirHTTP(request offset) offset

//go:wasmimport extism:host/user weir_progress
func weirProgress(message offset)

//go:wasmimport extism:host/user weir_log
func weirLog(level int32, message offset)

// Run reads the arguments of the call, runs fn and hands its answer to the
// host. It is the body of a tool's export. A panic of fn is left to reach the
// host as a crash: it discards the instance and logs what the guest printed.
func Run[A any](fn Func[A]) int32 {
	c := &Call{env: host{}}
	if in, ok := asked(); ok {
		post(run(c, fn, in))
		return exitOK
	}
	return c.deliver(encode(run(c, fn, input())), setOutput, setError)
}

func setOutput(b []byte) bool {
	at, ok := store(b)
	if ok {
		outputSet(at, uint64(len(b)))
	}
	return ok
}

func setError(message string) {
	if at, ok := store([]byte(message)); ok {
		errorSet(at)
	}
}

func input() []byte {
	b := make([]byte, inputLength())
	whole := len(b) &^ 7
	for i := 0; i < whole; i += 8 {
		binary.LittleEndian.PutUint64(b[i:], inputLoadU64(offset(i)))
	}
	for i := whole; i < len(b); i++ {
		b[i] = byte(inputLoadU8(offset(i)))
	}
	return b
}

// store copies b into fresh host memory; false: there is none left.
func store(b []byte) (offset, bool) {
	at := alloc(uint64(len(b)))
	if at == 0 {
		return 0, false
	}
	whole := len(b) &^ 7
	for i := 0; i < whole; i += 8 {
		storeU64(at+offset(i), binary.LittleEndian.Uint64(b[i:]))
	}
	for i := whole; i < len(b); i++ {
		storeU8(at+offset(i), uint32(b[i]))
	}
	return at, true
}

// load copies host memory in and gives it back to the host.
func load(at offset) []byte {
	b := make([]byte, length(at))
	whole := len(b) &^ 7
	for i := 0; i < whole; i += 8 {
		binary.LittleEndian.PutUint64(b[i:], loadU64(at+offset(i)))
	}
	for i := whole; i < len(b); i++ {
		b[i] = byte(loadU8(at + offset(i)))
	}
	release(at)
	return b
}

// host is the env of a real call.
type host struct{}

func (host) config(key string) (string, bool) {
	if value, set, ok := posted(key); ok {
		return value, set
	}
	k, ok := store([]byte(key))
	if !ok {
		return "", false
	}
	defer release(k)
	at := configGet(k)
	if at == 0 {
		return "", false
	}
	return string(load(at)), true
}

func (host) progress(message []byte) {
	if at, ok := store(message); ok {
		weirProgress(at) // the host frees it, as it does log lines
	}
}

func (host) log(level Level, message string) {
	if at, ok := store([]byte(message)); ok {
		weirLog(int32(level), at)
	}
}

func (host) http(request []byte) ([]byte, error) {
	at, ok := store(request)
	if !ok {
		return nil, Errorf(tool.OutOfMemory, "Send a smaller request.",
			"The request of %d bytes does not fit the memory of the call.", len(request))
	}
	response := weirHTTP(at)
	release(at)
	if response == 0 {
		return nil, Errorf(tool.TooLarge, "Ask for a smaller answer.",
			"The answer to a request does not fit the memory of the call.")
	}
	return load(response), nil
}

func (host) dir(guestPath string) fs.FS { return os.DirFS(guestPath) }
