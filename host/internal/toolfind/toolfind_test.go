package toolfind_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/weirhost/weir/host/internal/toolfind"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

func infos(names ...string) []plugin.ToolInfo {
	var out []plugin.ToolInfo
	for _, name := range names {
		out = append(out, plugin.ToolInfo{Plugin: "p", Spec: tool.Spec{Name: name, Description: "Handles " + name + "."}})
	}
	return out
}

// find returns the names of what is found.
func find(t *testing.T, f *toolfind.Finder, query string, n int, sees func(string) bool) (names []string) {
	for _, found := range f.Find(t.Context(), toolfind.Query{Text: query, Count: n, Sees: sees}) {
		names = append(names, found.Name)
	}
	return names
}

func all(string) bool { return true }

// Changes of the tools take effect in the background; searches go on meanwhile.
func TestFinderFollowsItsTools(t *testing.T) {
	var f toolfind.Finder
	if got := find(t, &f, "weather", 5, all); got != nil {
		t.Errorf("without tools it finds %q", got)
	}
	f.Update(infos("weather", "spreadsheet"))
	if got := find(t, &f, "weather", 5, all); !slices.Equal(got, []string{"weather"}) {
		t.Errorf("it finds %q", got)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 200 {
			find(t, &f, "weather", 5, all)
		}
	}()
	for i := range 20 {
		f.Update(infos("weather", "spreadsheet", fmt.Sprintf("calendar%d", i)))
	}
	<-done
	f.Wait()
	if got := find(t, &f, "calendar19", 5, all); !slices.Equal(got, []string{"calendar19"}) {
		t.Errorf("after the last change it finds %q", got)
	}
}

// A tool of another server has a name in lower case, and is found by the words of the name
// that its server wrote.
func TestWordsOfTheNameAsItWasWritten(t *testing.T) {
	var f toolfind.Finder
	f.Update([]plugin.ToolInfo{
		{Plugin: "kitchen", Spec: tool.Spec{Name: "kitchen__pickdessertfor", Written: "pickDessertFor", Description: "Serves the guests."}},
		{Plugin: "kitchen", Spec: tool.Spec{Name: "kitchen__other", Written: "other", Description: "Serves as well."}},
	})
	f.Wait()
	for _, query := range []string{"dessert", "pickDessertFor", "kitchen__pickdessertfor", "pickdessertfor", "use pickDessertFor", "kitchen__pickdesertfor"} {
		if got := find(t, &f, query, 5, all); !slices.Equal(got, []string{"kitchen__pickdessertfor"}) {
			t.Errorf("%s finds %q", query, got)
		}
	}
}

// What a caller does not see takes no place in the list, even by its name.
func TestFinderFindsWhatTheCallerSees(t *testing.T) {
	var f toolfind.Finder
	f.Update(infos("weather_now", "weather_then", "weather_soon"))
	got := find(t, &f, "weather_now weather", 2, func(name string) bool { return name != "weather_now" })
	if slices.Contains(got, "weather_now") || len(got) != 2 {
		t.Errorf("it finds %q", got)
	}
}
