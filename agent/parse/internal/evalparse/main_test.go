package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	dir := t.TempDir()
	good := `{"id":"1","format":"tag","tools":[{"name":"f"}],"text":"<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>","expect":[{"name":"f","arguments":{}}]}
{"id":"2","format":"prose","tools":[{"name":"f"}],"text":"No.","negative":true}
{"id":"3","format":"prose","tools":[{"name":"f"}],"text":"[f()]","negative":true}
`
	if err := os.WriteFile(filepath.Join(dir, "a.jsonl"), []byte(good), 0o600); err != nil {
		t.Fatal(err)
	}
	bad := t.TempDir()
	if err := os.WriteFile(filepath.Join(bad, "a.jsonl"), []byte("oops\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, r := range []struct {
		why  string
		args []string
		code int
		want []string
	}{
		{"no folder", nil, 0, []string{"no folder"}},
		{"a folder", []string{dir}, 0, []string{"exact 1 of 1", "fired 1 of 2", "missed: 3", "3 texts, 0 break one"}},
		{"without the long laws", []string{"-quick", dir}, 0, []string{"exact 1 of 1"}},
		{"an empty folder", []string{t.TempDir()}, 1, []string{"no .jsonl file"}},
		{"a broken file", []string{bad}, 1, []string{"line 1"}},
		{"an unknown flag", []string{"-x"}, 2, []string{"-quick"}},
	} {
		var out bytes.Buffer
		if code := run(r.args, &out); code != r.code {
			t.Errorf("%s: code %d\n%s", r.why, code, out.String())
		}
		for _, w := range r.want {
			if !strings.Contains(out.String(), w) {
				t.Errorf("%s: %q is missing in\n%s", r.why, w, out.String())
			}
		}
	}
}
