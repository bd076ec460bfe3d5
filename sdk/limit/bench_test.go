package limit_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// mebibyte is 1 MiB of text made of copies of line.
func mebibyte(line string) string {
	return strings.Repeat(line, 1<<20/len(line))
}

const (
	logLine = "2026-01-02T03:04:05Z level=info step=17 msg=\"opened the gate and let a part through\"\n"
	zhLine  = "时间=03:04:05 级别=信息 消息=打开闸门，放出一部分水，其余留在水库里。\n"
)

// BenchmarkApply cuts 1 MiB to 8,000 characters. The plain counts are the
// minimum work of any cut.
func BenchmarkApply(b *testing.B) {
	for _, text := range []struct{ name, whole string }{{"ascii", mebibyte(logLine)}, {"chinese", mebibyte(zhLine)}} {
		l := tool.Limits{MaxChars: 8000, MaxLines: 500}
		b.Run(text.name+"/count", func(b *testing.B) {
			b.SetBytes(int64(len(text.whole)))
			for b.Loop() {
				_ = utf8.RuneCountInString(text.whole) + strings.Count(text.whole, "\n")
			}
		})
		for _, s := range []tool.Strategy{tool.HeadTail, tool.HeadOnly, tool.TailOnly} {
			l.Strategy = s
			b.Run(text.name+"/"+string(s), func(b *testing.B) {
				b.SetBytes(int64(len(text.whole)))
				b.ReportAllocs()
				for b.Loop() {
					limit.Apply(text.whole, l, by)
				}
			})
		}
	}
}

// BenchmarkHighlights compares a cut with highlights to its expressions alone, in
// both ways to run them over a text.
func BenchmarkHighlights(b *testing.B) {
	whole := mebibyte(logLine)
	for _, set := range []struct {
		name string
		keep []string
	}{
		{"literals", []string{"error", "panic", "FAIL"}},
		{"prefixes", []string{`^E   `, `^FAIL\b`, `\w+Error: `}},
		{"nocase", []string{`(?i)error|panic|fail`}},
		{"classes", []string{`[4-5]\d\d [A-Z]{3,}`, `exit (code|status) [1-9]`}},
	} {
		var exprs []*regexp.Regexp
		for _, k := range set.keep {
			exprs = append(exprs, regexp.MustCompile("(?m)"+k))
		}
		b.Run(set.name+"/expressions_by_line", func(b *testing.B) {
			b.SetBytes(int64(len(whole)))
			for b.Loop() {
				for line := range strings.Lines(whole) {
					for _, re := range exprs {
						re.MatchString(line)
					}
				}
			}
		})
		b.Run(set.name+"/expressions_at_once", func(b *testing.B) {
			b.SetBytes(int64(len(whole)))
			for b.Loop() {
				for _, re := range exprs {
					re.FindAllStringIndex(whole, -1)
				}
			}
		})
		b.Run(set.name+"/apply", func(b *testing.B) {
			b.SetBytes(int64(len(whole)))
			b.ReportAllocs()
			for b.Loop() {
				limit.Apply(whole, tool.Limits{MaxChars: 8000, MaxLines: 500, Keep: set.keep}, by)
			}
		})
		b.Run(set.name+"/compiled", func(b *testing.B) {
			k := limit.CompileHighlights(set.keep)
			b.SetBytes(int64(len(whole)))
			b.ReportAllocs()
			for b.Loop() {
				k.Apply(whole, tool.Limits{MaxChars: 8000, MaxLines: 500}, by)
			}
		})
	}
}

func BenchmarkJSON(b *testing.B) {
	whole := "[" + mebibyte(`{"id": 12345, "name": "a gate", "tags": ["x", "y"], "open": true},`) + "0]"
	b.SetBytes(int64(len(whole)))
	b.ReportAllocs()
	for b.Loop() {
		limit.Apply(whole, tool.Limits{MaxChars: 8000, Strategy: tool.JSON}, by)
	}
}

func BenchmarkNormalise(b *testing.B) {
	for _, text := range []struct{ name, whole string }{
		{"clean", mebibyte(logLine)},
		{"chinese", mebibyte(zhLine)},
		{"crlf", strings.ReplaceAll(mebibyte(logLine), "\n", "\r\n")},
		{"colours", mebibyte("\x1b[32m" + strings.TrimSuffix(logLine, "\n") + "\x1b[0m\n")},
		{"bars", mebibyte("\r\x1b[K 57% [##########>         ] 3.2 MB/s")},
		{"moves", mebibyte("\x1b[2Aa: 57% [###>  ]\nb: 58% [###>  ]\n")},
		{"binary", "\x89PNG\r\n\x1a\n" + strings.Repeat("\x00\xff\x13x", 1<<18)},
	} {
		raw := []byte(text.whole)
		b.Run(text.name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				limit.Normalise(raw)
			}
		})
	}
}

func BenchmarkNeutralise(b *testing.B) {
	for _, text := range []struct{ name, s string }{
		{"log", mebibyte(logLine)},
		{"html", mebibyte(`<div class="a"><a href="/x">x</a></div>` + "\n")},
		{"forged", mebibyte(forgeries)},
	} {
		b.Run(text.name, func(b *testing.B) {
			b.SetBytes(int64(len(text.s)))
			for b.Loop() {
				limit.Neutralise(text.s)
			}
		})
	}
}

func BenchmarkRender(b *testing.B) {
	r := tool.Result{Tool: "t", Ref: &tool.Ref{UUID: uuid}}.WithWhole(mebibyte(logLine))
	r.Shown = limit.Fit(r, tool.Limits{MaxChars: 8000}, by)
	b.ReportAllocs()
	for b.Loop() {
		limit.Render(r, tool.Zh)
	}
}
