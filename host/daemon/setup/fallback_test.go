package setup

import (
	"slices"
	"testing"

	"github.com/weirhost/weir/agent/model/replay"
)

// The models that answer are those of the lists, each once, that the user may use.
func TestFallbackOrder(t *testing.T) {
	m := func(fallback ...string) Model { return Model{Model: replay.New(), Fallback: fallback} }
	models := map[string]Model{"a": m("b", "c"), "b": m("d", "a"), "c": m(), "d": m("c", "e"), "e": m()}
	for _, row := range []struct {
		about   string
		profile Profile
		model   string
		hidden  string
		want    []string
	}{
		{"a list, and those of its models", Profile{Model: "a"}, "a", "", []string{"b", "d", "c", "e"}},
		{"that of the profile", Profile{Model: "a", Fallback: []string{"e"}}, "a", "", []string{"e"}},
		{"that of the profile, which is empty", Profile{Model: "a", Fallback: []string{}}, "a", "", nil},
		{"of another model than the profile's", Profile{Model: "a", Fallback: []string{"e"}}, "b", "", []string{"d", "c", "e", "a"}},
		{"none that the user may not use, nor what only it leads to", Profile{Model: "a"}, "a", "b", []string{"c"}},
		{"no list", Profile{Model: "c"}, "c", "", nil},
	} {
		v := View{Models: map[string]Model{}}
		for name, m := range models {
			if name != row.hidden {
				v.Models[name] = m
			}
		}
		if got := v.Fallback(row.profile, row.model); !slices.Equal(got, row.want) {
			t.Errorf("%s: %v, want %v", row.about, got, row.want)
		}
	}
}
