package registry

import (
	"testing"
)

// A folder's list can lack a name that is just given to another file; what was
// there before is looked for by its name.
func TestWhatTheListLacksIsLookedFor(t *testing.T) {
	there, gone := t.TempDir(), t.TempDir()
	f := Folder{Path: there}
	previous := &Snapshot{Plugins: []*Plugin{
		{Source: there, Folder: f}, {Source: there + "/none.wasm", WasmPath: there + "/none.wasm", Folder: f}, {Source: gone, WasmPath: gone, Folder: f},
	}}
	s := &scan{opt: Options{Previous: previous}, snap: &Snapshot{}}
	found := s.overlooked([]candidate{{source: gone}})
	if len(found) != 1 || found[0].source != there || found[0].packed || found[0].folder != f {
		t.Errorf("%+v", found)
	}
	if more := (&scan{}).overlooked(nil); len(more) != 0 {
		t.Errorf("without a snapshot before: %+v", more)
	}
}
