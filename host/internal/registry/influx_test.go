package registry

import (
	"testing"

	"github.com/weirhost/weir/host/plugin"
)

// A folder's list can lack a name that is just given to another file; what was
// there before is looked for by its name.
func TestScanFindsPluginsMissingFromTheListing(t *testing.T) {
	there, gone := t.TempDir(), t.TempDir()
	f := plugin.Folder{Path: there}
	previous := &Snapshot{Plugins: []*Plugin{
		{Source: there, Folder: f}, {Source: there + "/none.wasm", WasmPath: there + "/none.wasm", Folder: f}, {Source: gone, WasmPath: gone, Folder: f},
	}}
	s := &scan{opt: Options{Previous: previous}, folders: []plugin.Folder{f}, snap: &Snapshot{}}
	found := s.missedByListing([]candidate{{source: gone}})
	if len(found) != 1 || found[0].source != there || found[0].packed || found[0].folder != f {
		t.Errorf("%+v", found)
	}
	s.folders[0].Trust = "other"
	if found := s.missedByListing([]candidate{{source: gone}}); len(found) != 1 || found[0].folder != s.folders[0] {
		t.Errorf("with another trust in the folder: %+v", found)
	}
	s.folders = nil
	if found := s.missedByListing(nil); len(found) != 0 {
		t.Errorf("of a folder that was taken away: %+v", found)
	}
	if more := (&scan{}).missedByListing(nil); len(more) != 0 {
		t.Errorf("without a snapshot before: %+v", more)
	}
}

// A refusal is final: after a manual reload, the plugin must not change to "still
// being written".
func TestRefusedPluginIsNotInFlux(t *testing.T) {
	c := reading{candidate: candidate{source: "a.wasm"}}
	var asked []bool
	s := &scan{opt: Options{InFlux: func(_ string, broken bool) bool { asked = append(asked, broken); return broken }}}
	if !s.unsettled(c, nil, true) {
		t.Error("what is new and broken is given time")
	}
	s.opt.Previous = &Snapshot{Refused: []Refusal{{Source: "a.wasm"}}}
	if s.unsettled(c, nil, true) {
		t.Error("what was refused, and is broken still, stays refused")
	}
	if len(asked) != 2 || !asked[0] || asked[1] {
		t.Errorf("asked with %v", asked)
	}
}
