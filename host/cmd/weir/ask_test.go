package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/internal/term"
)

// The arguments are what the person typed; standard input and files are attached to it.
func TestWhatIsTypedAndAttached(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.txt")
	if err := os.WriteFile(file, []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ofFile, ofInput := api.Attachment{Name: file, Text: "one\n"}, api.Attachment{Text: "piped"}
	for name, c := range map[string]struct {
		args, files []string
		in          string
		typed       string
		attached    []api.Attachment
	}{
		"arguments":      {[]string{"What", "is it?"}, nil, "", "What is it?", nil},
		"a file":         {[]string{"What?"}, []string{file}, "", "What?", []api.Attachment{ofFile}},
		"piped too":      {[]string{"What?"}, []string{file}, "piped\n", "What?", []api.Attachment{ofInput, ofFile}},
		"only piped":     {nil, nil, "piped", "", []api.Attachment{ofInput}},
		"from -":         {[]string{"-"}, []string{file}, "piped", "", []api.Attachment{ofInput, ofFile}},
		"without a word": {nil, []string{file}, " ", "", nil},
	} {
		cli := newCLI(term.Env{In: strings.NewReader(c.in), Out: os.Stdout, Err: os.Stderr})
		typed, attached, err := cli.question(c.args, c.files)
		if typed != c.typed || !slices.Equal(attached, c.attached) || (err != nil) != (name == "without a word") {
			t.Errorf("%s: %q, %+v, %v", name, typed, attached, err)
		}
	}
}
