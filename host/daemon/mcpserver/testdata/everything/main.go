//go:build wasip1

// Command everything is a guest with a tool for each thing that a client of the
// protocol can meet. The tools that begin with test_ are those that the
// protocol's conformance suite asks for.
package main

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/extism/go-pdk"
)

func main() {}

//go:wasmimport extism:host/user weir_progress
func weirProgress(p uint64)

func progress(text string) {
	m := pdk.AllocateString(text)
	weirProgress(m.Offset())
}

type args struct {
	Text   string
	Lines  int
	Millis int
}

func input() (a args) {
	_ = json.Unmarshal(pdk.Input(), &a)
	return a
}

// echo gives a text back.
//
//go:wasmexport echo
func echo() int32 {
	pdk.OutputString(input().Text)
	return 0
}

// long writes numbered lines.
//
//go:wasmexport long
func long() int32 {
	n := input().Lines
	var b strings.Builder
	for i := range n {
		b.WriteString("line ")
		b.WriteString(strings.Repeat("0123456789", 5))
		b.WriteByte(byte('a' + i%26))
		b.WriteByte('\n')
	}
	pdk.OutputString(b.String())
	return 0
}

// wait says that it begins and takes its time.
//
//go:wasmexport wait
func wait() int32 {
	progress(`{"message":"waiting"}`)
	time.Sleep(time.Duration(input().Millis) * time.Millisecond)
	pdk.OutputString("waited")
	return 0
}

//go:wasmexport simple
func simple() int32 {
	pdk.OutputString("This is a simple text response for testing.")
	return 0
}

const (
	pixel = `iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==`
	sound = `UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=`
	image = `{"type":"image","data":"` + pixel + `","mimeType":"image/png"}`
	blob  = `{"type":"resource","resource":{"uri":"test://blob","mimeType":"application/octet-stream","blob":"AAEC"}}`
)

//go:wasmexport picture
func picture() int32 {
	pdk.OutputString(`{"content":[` + image + `]}`)
	return 0
}

//go:wasmexport audio
func audio() int32 {
	pdk.OutputString(`{"content":[{"type":"audio","data":"` + sound + `","mimeType":"audio/wav"}]}`)
	return 0
}

//go:wasmexport resource
func resource() int32 {
	pdk.OutputString(`{"content":[` + blob + `]}`)
	return 0
}

//go:wasmexport mixed
func mixed() int32 {
	pdk.OutputString(`{"content":[{"type":"text","text":"Multiple content types test:"},` + image + `,` + blob + `]}`)
	return 0
}

//go:wasmexport structured
func structured() int32 {
	pdk.OutputString(`{"content":[{"type":"text","text":"12 degrees"}],"structuredContent":{"celsius":12}}`)
	return 0
}

//go:wasmexport failing
func failing() int32 {
	pdk.OutputString(`{"isError":true,"content":[{"type":"text","text":"This tool intentionally returns an error for testing"}],"error":{"code":"failed","message":"This tool intentionally returns an error for testing","hint":"call another one"}}`)
	return 0
}

//go:wasmexport progressing
func progressing() int32 {
	for _, text := range []string{`{"done":0,"total":100}`, `{"done":50,"total":100,"message":"half"}`, `{"done":100,"total":100}`} {
		progress(text)
		time.Sleep(5 * time.Millisecond)
	}
	pdk.OutputString("done")
	return 0
}
