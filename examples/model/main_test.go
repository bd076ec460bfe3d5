package main

import (
	"bytes"
	"testing"
)

func TestRun(t *testing.T) {
	for question, want := range map[string]string{
		"What does a kettle cost?": "calls  price {\"item\":\"kettle\"}\nanswer It costs 20 dollars.\n",
		"And a teapot?":            "calls  price {\"item\":\"teapot\"}\nanswer It is not sold here.\n",
		"Good morning":             "answer I only know what things cost.\n",
	} {
		var out bytes.Buffer
		if err := run(t.Context(), &out, question); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("%s\n%swanted:\n%s", question, out.String(), want)
		}
	}
}
