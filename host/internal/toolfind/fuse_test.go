package toolfind

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/internal/sqlite"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/internal/testtime"
	"github.com/weirhost/weir/sdk/tool"
)

// meaning is an embedding model that knows four subjects, in two languages. All else
// points in a direction of its own.
func meaning(text string) []float32 {
	text = strings.ToLower(text)
	sum := uint64(1)
	for _, r := range text {
		sum = sum*31 + uint64(r)
	}
	rnd, v := rand.New(rand.NewPCG(sum, 7)), make([]float32, 64)
	for i := range v {
		v[i] = float32(rnd.NormFloat64())
	}
	for i, words := range []string{"umbrella rain forecast 雨伞 下雨", "invoice bill 发票", "translate 翻译", "volcano lava 火山"} {
		for w := range strings.FieldsSeq(words) {
			if strings.Contains(text, w) {
				v[i] += 40
			}
		}
	}
	return v
}

// service is an embedding service that can fail.
type service struct {
	away  atomic.Bool
	asked atomic.Int32
}

func (s *service) embed(_ context.Context, texts []string) (out [][]float32, model string, err error) {
	s.asked.Add(1)
	if s.away.Load() {
		return nil, "", errors.New("away")
	}
	for _, text := range texts {
		out = append(out, meaning(text))
	}
	return out, "m", nil
}

// subjects are 200 tools about nothing in particular, and four that are about something.
func subjects() (out []plugin.ToolInfo) {
	for i := range 200 {
		out = append(out, plugin.ToolInfo{Plugin: "p", Spec: tool.Spec{Name: fmt.Sprintf("item%d", i), Description: fmt.Sprintf("Handles item number%d of the storehouse.", i)}})
	}
	for name, about := range map[string]string{
		"sky_outlook": "Gives the forecast of a place.", "billing": "Creates an invoice.", "lingua": "Can translate a text.", "vulcan": "Observes a volcano.",
	} {
		out = append(out, plugin.ToolInfo{Plugin: "q", Spec: tool.Spec{Name: name, Description: about}})
	}
	return out
}

func openFinder(t *testing.T, s *service) *Finder {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "a.db")})
	if err != nil {
		t.Fatal(err)
	}
	f := new(Finder)
	if err := f.Open(t.Context(), db, hclog.NewNullLogger(), time.Now); err != nil {
		t.Fatal(err)
	}
	f.Configure(Config{EmbeddingModel: "m", Embed: s.embed})
	f.Update(subjects())
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); f.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done; f.Wait(); _ = db.Close() })
	testtime.Until(t, "there are vectors", func() bool {
		f.Wait()
		return !slices.ContainsFunc(f.made.Load().vectors, func(v []byte) bool { return v == nil })
	})
	return f
}

func found(t *testing.T, f *Finder, query string, n int) (names []string) {
	t.Helper()
	for _, x := range f.Find(t.Context(), Query{Text: query, Count: n}) {
		names = append(names, x.Name)
	}
	return names
}

// What has the meaning of a question is found without a word of it; exact names stay
// first; greetings and nonsense find nothing; without the service words decide.
func TestVectorsAndWordsAreFused(t *testing.T) {
	s := new(service)
	f := openFinder(t, s)
	for query, want := range map[string]string{
		"出门要带雨伞吗": "sky_outlook", "Do I need an umbrella?": "sky_outlook", "给客户开发票": "billing", "lava": "vulcan",
		"item7 with an umbrella": "item7", "sky_outlook": "sky_outlook", "create an invoice": "billing", "lingua volcano": "lingua",
	} {
		if got := found(t, f, query, 5); len(got) == 0 || got[0] != want {
			t.Errorf("%q finds %q, not %s", query, got, want)
		}
	}
	if got := found(t, f, "item7 with an umbrella", 5); len(got) < 2 || got[1] != "sky_outlook" {
		t.Errorf("behind a name: %q", got)
	}
	asked := s.asked.Load()
	for _, greeting := range []string{"good morning", "你好", "thanks a lot!", "", "how are you?"} {
		if got := found(t, f, greeting, 5); got != nil {
			t.Errorf("%q finds %q", greeting, got)
		}
	}
	if s.asked.Load() != asked {
		t.Error("a greeting is sent to the service")
	}
	noise, rnd := 0, rand.New(rand.NewPCG(1, 2))
	for range 400 {
		word := ""
		for range 8 {
			word += string(rune('a' + rnd.IntN(26)))
		}
		if found(t, f, word+" 螃蟹"+string(rune(0x5200+rnd.IntN(2000))), 5) != nil {
			noise++
		}
	}
	if noise > 20 {
		t.Errorf("%d of 400 questions about nothing find tools", noise)
	}
	if got := f.Find(t.Context(), Query{Text: "雨伞", Count: 5, Sees: func(name string) bool { return name != "sky_outlook" }}); len(got) > 0 {
		t.Errorf("what is not seen is found: %+v", got)
	}
	if got := f.Find(t.Context(), Query{Text: "雨伞", Count: 1}); len(got) != 1 || got[0].Near < 0.5 {
		t.Errorf("%+v", got)
	}
	s.away.Store(true)
	if got := found(t, f, "create another invoice", 5); len(got) == 0 || got[0] != "billing" {
		t.Errorf("without the service: %q", got)
	}
}
