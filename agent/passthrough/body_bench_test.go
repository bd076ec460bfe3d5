package passthrough

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func benchBody() []byte {
	var b strings.Builder
	b.WriteString(`{"model":"m","messages":[{"role":"system","content":"x"}`)
	for i := 0; b.Len() < 1_000_000; i++ {
		fmt.Fprintf(&b, `,{"role":"user","content":[{"type":"text","text":%q}]}`, fmt.Sprint(i, strings.Repeat("a line of a result, with <words> in it\n", 100)))
	}
	b.WriteString(`],"stream":true}`)
	return []byte(b.String())
}

func BenchmarkReadBody(b *testing.B) {
	raw := benchBody()
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if _, err := ReadBody(raw); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkValid(b *testing.B) {
	raw := benchBody()
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		json.Valid(raw)
	}
}

func BenchmarkBytes(b *testing.B) {
	body, _ := ReadBody(benchBody())
	for b.Loop() {
		body.Bytes()
	}
}

func BenchmarkSplitBody(b *testing.B) {
	raw := benchBody()
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if _, err := SplitBody(raw); err != nil {
			b.Fatal(err)
		}
	}
}
