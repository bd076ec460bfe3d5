//go:build wasip1

// Command probe is a guest whose exports behave as a test asks them to. It
// answers in plain text.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/extism/go-pdk"
)

func main() {}

type args struct {
	Lines, Width, Millis int
	Text                 string
}

func input() (a args) {
	if err := json.Unmarshal(pdk.Input(), &a); err != nil {
		pdk.SetError(err)
	}
	return a
}

// long writes numbered lines of a given width.
//
//go:wasmexport long
func long() int32 {
	a := input()
	var b strings.Builder
	for i := range a.Lines {
		line := fmt.Sprintf("line %d ", i+1)
		b.WriteString(line + strings.Repeat("x", max(0, a.Width-len(line)-1)) + "\n")
	}
	pdk.OutputString(b.String())
	return 0
}

//go:wasmexport echo
func echo() int32 {
	pdk.Output(pdk.Input())
	return 0
}

// settings tells what the host passes on beside the arguments.
//
//go:wasmexport settings
func settings() int32 {
	var out []string
	for _, k := range []string{"weir.max_chars", "weir.max_lines", "weir.locale", "depth", "label"} {
		v, _ := pdk.GetConfig(k)
		out = append(out, k+"="+v)
	}
	pdk.OutputString(strings.Join(out, "\n"))
	return 0
}

//go:wasmexport blank
func blank() int32 { return 0 }

//go:wasmexport fail
func fail() int32 {
	pdk.SetError(errors.New("the tide is out"))
	return 1
}

//go:wasmexport crash
func crash() int32 { panic("boom") }

var calls int

// count counts the calls of one instance.
//
//go:wasmexport count
func count() int32 {
	calls++
	pdk.OutputString(fmt.Sprintf("call %d", calls))
	return 0
}

// stamp answers differently every time.
//
//go:wasmexport stamp
func stamp() int32 {
	pdk.OutputString(fmt.Sprint(time.Now().UnixNano()))
	return 0
}

//go:wasmexport wait
func wait() int32 {
	time.Sleep(time.Duration(input().Millis) * time.Millisecond)
	pdk.OutputString("waited")
	return 0
}

//go:wasmimport extism:host/user weir_progress
func weirProgress(p uint64)

// steps tells how it gets on.
//
//go:wasmexport steps
func steps() int32 {
	for _, text := range []string{`{"done":1,"total":2,"message":"one"}`, `{"done":2,"total":2,"message":"two"}`} {
		m := pdk.AllocateString(text)
		weirProgress(m.Offset())
	}
	pdk.OutputString("done")
	return 0
}

//go:wasmexport huge
func huge() int32 {
	pdk.OutputString(strings.Repeat("0123456789abcdef", (8<<20)/16+1))
	return 0
}

//go:wasmexport coloured
func coloured() int32 {
	pdk.OutputString("\x1b[31mred\x1b[0m\r\nplain\xff")
	return 0
}
