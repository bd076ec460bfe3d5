package tokens_test

import (
	"math"
	"os"
	"strings"
	"testing"

	"github.com/tiktoken-go/tokenizer"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/internal/prompt"
)

// samples reads our own texts of one kind, each of them several hundred
// characters long. Those in Chinese, Japanese and Korean set a plain paragraph
// beside a technical one, as conversations do: the registers of these languages
// differ by a quarter in tokens per character, which no weight can follow.
func samples(t *testing.T, kind string) []string {
	t.Helper()
	text, err := os.ReadFile("testdata/samples/" + kind + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	between := "\n\n"
	if kind == "code" {
		between = "\n%%\n"
	}
	all := strings.Split(strings.TrimSpace(string(text)), between)
	if len(all) != 4 {
		t.Fatalf("%d samples of %s, want 4", len(all), kind)
	}
	return all
}

var sampleKinds = []string{"zh", "ja", "ko", "en", "code"}

// realTokens counts as a current vocabulary of 200,000 tokens does.
func realTokens(t *testing.T) func(string) int {
	t.Helper()
	enc, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		t.Fatal(err)
	}
	return func(text string) int {
		n, err := enc.Count(text)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
}

func TestEstimateOfSamples(t *testing.T) {
	count := realTokens(t)
	for _, kind := range sampleKinds {
		for i, text := range samples(t, kind) {
			real, got := count(text), new(agent.Estimator).Tokens(text)
			off := float64(got)/float64(real) - 1
			t.Logf("%s %d: %d characters, %d tokens, estimated %d (%+.0f %%)", kind, i+1, prompt.RuneCount(text), real, got, off*100)
			if prompt.RuneCount(text) < 280 || math.Abs(off) > 0.20 {
				t.Errorf("%s %d: estimated %d tokens of %d, off by %+.0f %%; 20 %% is the most", kind, i+1, got, real, off*100)
			}
		}
	}
}

// Three replies whose usage was reported bring the estimate of a fourth text of
// the same kind, which the estimator has not seen, within a tenth.
func TestCalibratedEstimateOfSamples(t *testing.T) {
	count := realTokens(t)
	for _, kind := range sampleKinds {
		all := samples(t, kind)
		for held, text := range all {
			var e agent.Estimator
			for i, other := range all {
				if i != held {
					e.Calibrate(e.Tokens(other), count(other))
				}
			}
			real, got := count(text), e.Tokens(text)
			off := float64(got)/float64(real) - 1
			t.Logf("%s %d: %d tokens, estimated %d (%+.0f %%)", kind, held+1, real, got, off*100)
			if math.Abs(off) > 0.10 {
				t.Errorf("%s %d: estimated %d tokens of %d, off by %+.0f %% after three replies; 10 %% is the most", kind, held+1, got, real, off*100)
			}
		}
	}
}
