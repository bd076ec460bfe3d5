package guest_test

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestImports builds guests with the plain toolchain and reads what they ask
// of their host: a guest must load on a host that lacks what it does not use.
func TestImports(t *testing.T) {
	// The language of the conversation, which a failure is written in, is a setting.
	always := []string{
		"alloc", "config_get", "error_set", "free", "input_length", "input_load_u64", "input_load_u8", "length", "load_u64", "load_u8",
		"output_set", "store_u64", "store_u8",
	}
	for _, tt := range []struct {
		guest string
		want  []string
		why   string
	}{
		{"plain", always, "a tool over its arguments only reads input and settings, and sets output"},
		{"all", append([]string{"weir_http", "weir_log", "weir_progress"}, always...), "what is used is imported, by its documented name"},
	} {
		t.Run(tt.guest, func(t *testing.T) {
			got := extismImports(t, build(t, tt.guest))
			slices.Sort(tt.want)
			if !slices.Equal(got, tt.want) {
				t.Errorf("%s:\n got %v\nwant %v", tt.why, got, tt.want)
			}
		})
	}
}

func build(t *testing.T, name string) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), name+".wasm")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w", "-o", out, "./testdata/"+name)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOFLAGS=")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, text)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// extismImports lists the functions a module imports from Extism's namespaces.
func extismImports(t *testing.T, wasm []byte) []string {
	t.Helper()
	r := reader(wasm[8:])
	for len(r) > 0 {
		id := r.byte()
		body := reader(r.take(r.number()))
		if id != 2 {
			continue
		}
		var names []string
		for range body.number() {
			module, name := string(body.take(body.number())), string(body.take(body.number()))
			if body.byte() != 0 {
				t.Fatalf("%s.%s is not a function", module, name)
			}
			body.number()
			if strings.HasPrefix(module, "extism:") {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return names
	}
	t.Fatal("no import section")
	return nil
}

type reader []byte

func (r *reader) byte() byte { return r.take(1)[0] }

func (r *reader) take(n int) []byte {
	b := (*r)[:n]
	*r = (*r)[n:]
	return b
}

func (r *reader) number() int {
	v, n := binary.Uvarint(*r)
	*r = (*r)[n:]
	return int(v)
}
