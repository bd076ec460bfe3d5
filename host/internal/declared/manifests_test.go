package declared

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/sdk/tool"
)

// A plugin in one file declares its tools in the manifest inside.
func TestDeclaredToolsOfAPackedPlugin(t *testing.T) {
	shipped := filepath.Join(guesttest.Shipped(t, "calculator"), "calculator")
	wasm, err := os.ReadFile(filepath.Join(shipped, "calculator.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := os.ReadFile(filepath.Join(shipped, registry.ManifestName))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	section := append(binary.AppendUvarint(nil, uint64(len(registry.SectionName))), registry.SectionName+string(manifest)...)
	wasm = append(binary.AppendUvarint(append(wasm, 0), uint64(len(section))), section...)
	if err := os.WriteFile(filepath.Join(dir, "calculator.wasm"), wasm, 0o600); err != nil {
		t.Fatal(err)
	}
	var complaints bytes.Buffer
	specs, err := Tools(t.Context(), dir, "", complain(&complaints))
	if err != nil || len(specs) != 1 || specs[0].Name != "calculator" || specs[0].Output.MaxChars == 0 {
		t.Errorf("%+v, error %v, told %q", specs, err, complaints.String())
	}
}

func TestDeclaredToolsOfTheShippedPlugins(t *testing.T) {
	var complaints bytes.Buffer
	dir := filepath.Join(guesttest.Root(t), "plugins")
	specs, err := Tools(t.Context(), dir, "", complain(&complaints))
	if err != nil || complaints.Len() > 0 {
		t.Fatalf("error %v, told %q", err, complaints.String())
	}
	for _, name := range []string{"calculator", "grep_search", "read_file", "search_web"} {
		if _, err := Tool(specs, name, dir); err != nil {
			t.Error(err)
		}
	}
	_, err = Tool(specs, "something_else", dir)
	ue, ok := err.(*msg.Problem)
	if !ok || !strings.Contains(ue.Hint.String(), "calculator") {
		t.Errorf("a name with nothing near it should list what there is: %#v", err)
	}
	var names []string
	for _, s := range specs {
		if s.Name != "query_csv" { // the second tool of its plugin comes after the first
			names = append(names, s.Name)
		}
	}
	if !slices.IsSorted(names) {
		t.Errorf("the folder's order is not kept: %v", names)
	}
}

func complain(w *bytes.Buffer) func(tool.Text) {
	return func(t tool.Text) { fmt.Fprintln(w, t) }
}
