//go:build wasip1

// Command probe is a guest whose exports behave as a test asks them to. It
// answers in plain text.
package main

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/extism/go-pdk"
)

func main() {}

// number reads a number from the arguments. encoding/json and fmt would make the module
// half as large again, which every test that calls it loads.
func number(key string) int {
	_, text, _ := strings.Cut(strings.ToLower(string(pdk.Input())), `"`+key+`":`)
	text = strings.TrimLeft(text, " ")
	end := 0
	for end < len(text) && (text[end] == '-' || '0' <= text[end] && text[end] <= '9') {
		end++
	}
	n, _ := strconv.Atoi(text[:end])
	return n
}

// long writes numbered lines of a given width.
//
//go:wasmexport long
func long() int32 {
	width := number("width")
	var b strings.Builder
	for i := range number("lines") {
		line := "line " + strconv.Itoa(i+1) + " "
		b.WriteString(line + strings.Repeat("x", max(0, width-len(line)-1)) + "\n")
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
	pdk.OutputString("call " + strconv.Itoa(calls))
	return 0
}

// stamp answers differently every time.
//
//go:wasmexport stamp
func stamp() int32 {
	pdk.OutputString(strconv.FormatInt(time.Now().UnixNano(), 10))
	return 0
}

//go:wasmexport wait
func wait() int32 {
	time.Sleep(time.Duration(number("millis")) * time.Millisecond)
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
