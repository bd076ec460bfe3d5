package agent

import (
	"math"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent/internal/prompt"
	"github.com/weirhost/weir/agent/internal/tokens"
)

// The counts are those of a common vocabulary of 200,000 tokens.
func TestEstimateByScript(t *testing.T) {
	for _, c := range []struct {
		name, text  string
		least, most float64 // tokens per character
	}{
		{"English", "The weir holds a river back, lets a measured part through, and keeps the rest in the reservoir.", 0.19, 0.30},
		{"code", "func (r *run) lower(res *tool.Result, chars int, layer tool.Layer) {\n\tif chars <= 0 {\n\t\treturn\n\t}\n}\n", 0.25, 0.45},
		{"Chinese", "堰拦住河水，放过量好的一部分，把其余的留在水库里。工具自己声明输出的上限。", 0.55, 0.95},
		{"Japanese", "堰は川の水をせき止め、決められた量だけを流し、残りを貯めておきます。", 0.55, 0.95},
		{"Korean", "보는 강물을 막아 정해진 만큼만 흘려보내고 나머지는 저수지에 남겨 둡니다.", 0.45, 0.95},
		{"Russian", "Плотина удерживает реку и пропускает отмеренную часть воды.", 0.2, 0.5},
		{"digits", "1234567890 9876543210", 0.3, 0.5},
		{"emoji", "👩‍💻🎉🚀", 0.9, 3},
	} {
		if got := tokens.Count(c.text) / float64(prompt.RuneCount(c.text)); got < c.least || got > c.most {
			t.Errorf("%s: %.2f tokens a character, want %.2f to %.2f", c.name, got, c.least, c.most)
		}
	}
	if got := new(Estimator).Tokens(""); got != 0 {
		t.Errorf("the empty text takes %d tokens", got)
	}
}

func TestCalibrationConverges(t *testing.T) {
	for _, truth := range []float64{0.6, 1, 1.8} {
		var e Estimator
		text := strings.Repeat("some words of a prompt 和一些中文\n", 200)
		real := tokens.Count(text) * truth
		for range 3 {
			e.Calibrate(e.Tokens(text), int(real))
		}
		if off := math.Abs(float64(e.Tokens(text))/real - 1); off > 0.05 {
			t.Errorf("truth %.1f: off by %.0f %% after three replies", truth, off*100)
		}
	}
}

func TestCalibrationIsBounded(t *testing.T) {
	var e Estimator
	before := e.Tokens("some text to count")
	e.Calibrate(0, 100)
	e.Calibrate(100, 0) // providers that do not count report 0
	e.Calibrate(-1, -1)
	if got := e.Tokens("some text to count"); got != before {
		t.Errorf("reports of nothing changed %d to %d", before, got)
	}
	for range 10 {
		e.Calibrate(10, 1_000_000)
	}
	if got := e.scale(); got != greatestFactor {
		t.Errorf("factor %v", got)
	}
	for range 10 {
		e.Calibrate(1_000_000, 1)
	}
	if got := e.scale(); got != leastFactor {
		t.Errorf("factor %v", got)
	}
}

func BenchmarkEstimate(b *testing.B) {
	text := strings.Repeat("func main() { fmt.Println(\"hello, 世界\") }\n", 2000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		tokens.Count(text)
	}
}
