package recall

import (
	"math"
	"slices"
	"testing"
)

func TestRefersBack(t *testing.T) {
	for question, want := range map[string]bool{
		"What did the log say earlier?":           true,
		"as I asked BEFORE, which port is it?":    true,
		"In the previous answer":                  true,
		"What else stands in that result?":        true,
		"Sort those files by size":                true,
		"the list you just showed me":             true,
		"刚才的搜索里有没有价格？":                            true,
		"上次的结果再看一下":                               true,
		"前面提到的文件在哪里？":                             true,
		"那个结果里的第三条是什么":                            true,
		"上一个文件的大小":                                true,
		"What is the capital of France?":          false,
		"Add 2 and 3":                             false,
		"Is the beforehand payment an advantage?": false, // part of another word
		"今天天气怎么样？":                                false,
		"请计算三加四":                                  false,
		"":                                        false,
	} {
		if got := refersBack(question); got != want {
			t.Errorf("%q: %v", question, got)
		}
	}
}

func TestQuestionTerms(t *testing.T) {
	for question, want := range map[string][]string{
		"Which database timeout did the earlier result show?": {"database", "timeout"},
		"刚才那个日志里的错误有多少？":                                      {"日志", "错误"},
		"What did you say before?":                            nil,
		"timeout, Timeout, TIMEOUT":                           {"timeout"},
	} {
		if got := questionTerms(question); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", question, got, want)
		}
	}
}

func TestCosine(t *testing.T) {
	nan := float32(math.NaN())
	for _, c := range []struct {
		a, b []float32
		want float64
		why  string
	}{
		{[]float32{1, 2}, []float32{2, 4}, 1, "one direction"},
		{[]float32{1, 0}, []float32{0, 1}, 0, "at right angles"},
		{[]float32{1, 1}, []float32{-1, -1}, 0, "opposite"},
		{[]float32{1}, []float32{1, 1}, 0, "of different lengths"},
		{[]float32{0, 0}, []float32{1, 1}, 0, "nothing at all"},
		{nil, nil, 0, "empty"},
		{[]float32{nan}, []float32{1}, 0, "not a number"},
	} {
		if got := cosine(c.a, c.b); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", c.why, got, c.want)
		}
	}
}
