package host

import (
	"context"
	"strings"
	"testing"

	"github.com/weirhost/weir/internal/testtime"
	"github.com/weirhost/weir/sdk/tool"
)

// byLetter is an embedding model that counts two signs.
func byLetter(_ context.Context, texts []string) ([][]float32, string, error) {
	var out [][]float32
	for _, t := range texts {
		out = append(out, []float32{0.01 + float32(strings.Count(t, "xxx")), 0.01 + float32(strings.Count(t, "what does it mean"))})
	}
	return out, "letters", nil
}

// TestSearchByMeaning: search_tool_history finds what shares no word with the query,
// in earlier conversations too where the user's are shared, and says whose they are.
func TestSearchByMeaning(t *testing.T) {
	meaning := func(ctx context.Context, texts []string) ([][]float32, string, error) {
		out, name, err := byLetter(ctx, texts)
		for i, text := range texts {
			if strings.Contains(text, "vessel") { // a query without a word of the result
				out[i] = []float32{1, 0}
			}
		}
		return out, name, err
	}
	h := open(t, drop(t, "probe"), func(c *Config) { c.Embed, c.Archive.UserScope = meaning, true })
	kept := call(t, h.Session("me", "first"), "long", `{"Lines":100,"Width":50}`)
	later := h.Session("me", "second").In(tool.Zh)
	testtime.Until(t, "vectors are stored", func() bool { // vectors are stored after the call
		near, err := later.Near(t.Context(), "vessel", 3)
		if err != nil {
			t.Fatal(err)
		}
		if len(near) == 1 && (near[0].Ref.UUID != kept.Ref.UUID || near[0].Last < near[0].First) {
			t.Errorf("%+v", near[0])
		}
		return len(near) == 1
	})
	earlier, err := later.Earlier(t.Context(), 5)
	if err != nil || len(earlier) != 1 || earlier[0].Ref.UUID != kept.Ref.UUID {
		t.Errorf("earlier: %+v %v", earlier, err)
	}
	if got, err := h.Session("me", "first").Earlier(t.Context(), 5); err != nil || len(got) != 0 {
		t.Errorf("its own results are not earlier ones: %+v %v", got, err)
	}
	r := call(t, later, tool.SearchHistory, `{"query":"vessel"}`)
	if !strings.Contains(r.Whole(), kept.Ref.UUID) || !strings.Contains(r.Whole(), "含义相近") || !strings.Contains(r.Whole(), "所有会话") {
		t.Errorf("the search says %s", r.Whole())
	}
	about := func(s *Session) string {
		for _, spec := range s.Tools() {
			if spec.Name == tool.SearchHistory {
				return spec.Describe(tool.En) + spec.Describe(tool.Zh)
			}
		}
		return ""
	}
	if got := about(later); !strings.Contains(got, "all earlier conversations") || !strings.Contains(got, "以往所有会话") {
		t.Errorf("the tool is described as %s", got)
	}
	alone := open(t, drop(t, "probe"), nil).Session("me", "first")
	if got := about(alone); strings.Contains(got, "earlier conversations") {
		t.Errorf("without sharing it is described as %s", got)
	}
	if near, err := alone.Near(t.Context(), "vessel", 3); near != nil || err != nil {
		t.Errorf("without a model: %v %v", near, err)
	}
	if ref := later.Ref(t.Context(), kept.Ref.UUID); ref == nil || ref.Summary != kept.Ref.Summary {
		t.Errorf("%+v", ref)
	}
	if err := h.Archive().Delete(t.Context(), later.scope(), kept.Ref.UUID); err != nil || later.Ref(t.Context(), kept.Ref.UUID) != nil {
		t.Errorf("a deleted result is still there: %v", err)
	}
}

// TestBriefs: the summary of a placeholder is a model's where one is named, written
// after the call has ended.
func TestBriefs(t *testing.T) {
	release := make(chan struct{})
	h := open(t, drop(t, "probe"), func(c *Config) {
		c.Archive.SummaryChars = 60
		c.BriefOver = 1000
		c.Brief = func(_ context.Context, r SummaryRequest) (Summary, error) {
			<-release
			return Summary{Text: "many\nlines by " + r.Tool + strings.Repeat(" and more", 20)}, nil
		}
	})
	s := h.Session("me", "first")
	kept := call(t, s, "long", `{"Lines":100,"Width":50}`)
	if strings.Contains(kept.Ref.Summary, "many") {
		t.Errorf("the call waited for %q", kept.Ref.Summary)
	}
	close(release)
	var got string
	testtime.Until(t, "the summary is stored", func() bool {
		got = s.Ref(t.Context(), kept.Ref.UUID).Summary
		return strings.HasPrefix(got, "many lines by long")
	})
	if len([]rune(got)) > 61 {
		t.Errorf("%d characters: %s", len(got), got)
	}
}
