package hostile

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/plugin"
)

// A plugin folder with very many empty files and folders: the good plugins beside them
// are ready, one that comes later too, and a word says what is left out.
func TestAFolderOfManyFiles(t *testing.T) {
	const many = 1_500 // more than are read
	dir := t.TempDir()
	heap := filepath.Join(dir, "a_heap")
	if err := os.Mkdir(heap, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range many {
		for _, path := range []string{filepath.Join(dir, fmt.Sprintf("empty%d.wasm", i)), filepath.Join(heap, fmt.Sprintf("%d.toml", i))} {
			if err := os.WriteFile(path, nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		for _, path := range []string{filepath.Join(dir, fmt.Sprintf("folder%d", i)), filepath.Join(heap, fmt.Sprint("below", i))} {
			if err := os.Mkdir(path, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	dropIn(t, dir, honest)
	h := open(t, dir, host.OwnProcess, nil)
	ctx, cancel := context.WithCancel(t.Context())
	watching := make(chan error, 1)
	go func() { watching <- h.Watch(ctx, 0) }()
	defer func() {
		cancel()
		<-watching
	}()
	later := honest
	later.name = "later"
	dropIn(t, dir, later)
	missing := func() int {
		n := 2
		for _, p := range h.Plugins() {
			if p.State == plugin.Ready {
				n--
			}
		}
		return n
	}
	if n := eventually(missing, 0); n != 0 {
		t.Errorf("%d plugins are missing", n)
	}
	words := 0
	for _, p := range h.Plugins() {
		if strings.Contains(p.Why.String(), "left out") {
			words++
		}
	}
	if n := len(h.Plugins()); n > 1100 || words != 1 {
		t.Errorf("%d plugins are listed; %d say what is left out", n, words)
	}
}
