package jsonscan

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
)

// decoded counts as Count does, with the tokens of encoding/json.
func decoded(t interface{ Fatal(...any) }, text string) Counts {
	var n Counts
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	type level struct{ object, key bool }
	var open []level
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return n
		}
		if err != nil {
			t.Fatal(err)
		}
		if token == json.Delim('}') || token == json.Delim(']') {
			open = open[:len(open)-1]
			continue
		}
		if len(open) > 0 && open[len(open)-1].object {
			in := &open[len(open)-1]
			if in.key = !in.key; in.key {
				n.Names++
				continue
			}
		}
		n.Values++
		if len(open) == 1 {
			n.Items++
		}
		if token == json.Delim('{') || token == json.Delim('[') {
			open = append(open, level{object: token == json.Delim('{')})
			n.Depth = max(n.Depth, len(open))
		}
	}
}

func TestCount(t *testing.T) {
	for _, text := range seeds() {
		sameCounts(t, text)
	}
	large := []byte(`{"a":[` + strings.Repeat(`{"b":"\"c","d":[]},`, 1000) + `0]}`)
	if n := Count(large); n.Values != 3003 || n.Items != 1 || n.Names != 2001 || n.Depth != 4 {
		t.Errorf("%+v", n)
	}
	if n := testing.AllocsPerRun(10, func() { Count(large) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzCount(f *testing.F) {
	for _, text := range seeds() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { sameCounts(t, text) })
}

// sameCounts compares Count with encoding/json where the text is valid.
func sameCounts(t *testing.T, text string) {
	got := Count([]byte(text))
	if json.Valid([]byte(text)) && got != decoded(t, text) {
		t.Errorf("%.200q: %+v, want %+v", text, got, decoded(t, text))
	}
}
