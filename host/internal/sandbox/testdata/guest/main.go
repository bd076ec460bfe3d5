//go:build wasip1

// The guest of the sandbox's tests. Each export does one thing, good or bad.
package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"
)

func main() {}

//go:wasmexport echo
func echo() int32 { return output(string(input())) }

//go:wasmexport silent
func silent() int32 { return 0 }

//go:wasmexport spin
func spin() int32 {
	weirProgress(block([]byte(`{"message":"spinning"}`)))
	for i := 0; ; i++ {
		if i < 0 {
			return 1
		}
	}
}

//go:wasmexport sleep
func sleep() int32 {
	weirProgress(block([]byte(`{"message":"sleeping"}`)))
	time.Sleep(time.Hour)
	return output("awake")
}

var hoard [][]byte

//go:wasmexport bigmem
func bigmem() int32 {
	for {
		b := make([]byte, 1<<20)
		b[0] = 1
		hoard = append(hoard, b)
	}
}

//go:wasmexport panics
func panics() int32 { panic("the disk is \x1b[31mmissing") }

//go:wasmexport exit
func exit() int32 {
	code, _ := strconv.Atoi(string(input()))
	output("too early")
	os.Exit(code)
	return 0
}

//go:wasmexport refuses
func refuses() int32 { return fail(errors.New(string(input()))) }

// hook reports an error and crashes, as the panic hooks of some kits do.
//
//go:wasmexport hook
func hook() int32 {
	fail(errors.New("index out of range"))
	outputSet(0, 0)
	varSet(block([]byte("k")), block(make([]byte, 2<<20))) // more than fits, which ends the call
	return 1
}

//go:wasmexport seven
func seven() int32 {
	fmt.Fprintln(os.Stderr, "warming up")
	return 7
}

// bigout produces as many bytes as the input says.
//
//go:wasmexport bigout
func bigout() int32 {
	n, _ := strconv.Atoi(string(input()))
	return output(strings.Repeat("x", n))
}

// claims sets an output that does not exist.
//
//go:wasmexport claims
func claims() int32 {
	outputSet(1<<40, 100)
	return 0
}

// hugealloc asks the host for memory that there is not, and writes to it.
//
//go:wasmexport hugealloc
func hugealloc() int32 {
	p := alloc(1 << 30)
	outputSet(p, 1<<10)
	return 0
}

//go:wasmexport flood
func flood() int32 {
	line := strings.Repeat("all work and no play ", 500) + "\n"
	for range 2000 {
		os.Stdout.WriteString(line)
	}
	return output("done")
}

var calls int

// spy says what an earlier call has left behind.
//
//go:wasmexport spy
func spy() int32 {
	calls++
	left := load(varGet(block([]byte("left"))))
	varSet(block([]byte("left")), block([]byte("canary")))
	return output(fmt.Sprintf("call %d, var %q", calls, left))
}

//go:wasmexport world
func world() int32 {
	b := make([]byte, 16)
	rand.Read(b)
	return output(fmt.Sprintf("%d %x %v %v", time.Now().Unix(), b, os.Environ(), os.Args))
}

//go:wasmexport config
func config() int32 { return output(string(load(configGet(block(input()))))) }

//go:wasmexport cat
func cat() int32 {
	b, err := os.ReadFile(string(input()))
	if err != nil {
		return fail(err)
	}
	return output(string(b))
}

//go:wasmexport walk
func walk() int32 {
	var out strings.Builder
	root := string(input())
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		size := info.Size()
		if d.IsDir() {
			size = 0 // a folder's size is the host's own matter
		}
		fmt.Fprintf(&out, "%s %v %d\n", path, d.Type(), size)
		return nil
	})
	if err != nil {
		return fail(err)
	}
	return output(out.String())
}

// files runs one operation on files: "op path [path or text]".
//
//go:wasmexport files
func files() int32 {
	f := strings.SplitN(string(input()), " ", 3)
	f = append(f, "", "")
	var err error
	switch f[0] {
	case "write":
		err = os.WriteFile(f[1], []byte(f[2]), 0o644)
	case "append":
		var file *os.File
		if file, err = os.OpenFile(f[1], os.O_APPEND|os.O_WRONLY, 0); err == nil {
			_, err = file.WriteString(f[2])
			err = errors.Join(err, file.Close())
		}
	case "mkdir":
		err = os.MkdirAll(f[1], 0o755)
	case "rename":
		err = os.Rename(f[1], f[2])
	case "remove":
		err = os.RemoveAll(f[1])
	case "symlink":
		err = os.Symlink(f[2], f[1])
	case "link":
		err = os.Link(f[2], f[1])
	case "truncate":
		err = os.Truncate(f[1], 3)
	default:
		err = errors.New("unknown operation")
	}
	if err != nil {
		return fail(err)
	}
	return output("ok")
}

//go:wasmexport http
func http() int32 { return output(string(load(weirHTTP(block(input()))))) }

//go:wasmexport exthttp
func exthttp() int32 {
	body := load(httpRequest(block(input()), block([]byte("body of the guest"))))
	return output(fmt.Sprintf("%d %s %s", httpStatusCode(), body, load(httpHeaders())))
}

//go:wasmexport talk
func talk() int32 {
	for i := range 3 {
		weirProgress(block(fmt.Appendf(nil, `{"done":%d,"total":3,"message":"step\u001b[2J %d"}`, i+1, i+1)))
	}
	weirProgress(block([]byte("not json")))
	weirLog(2, block([]byte("by weir_log")))
	weirLog(99, block([]byte("beyond the levels")))
	logWarn(block([]byte("by log_warn")))
	fmt.Println("by stdout")
	return output("said")
}
