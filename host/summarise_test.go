package host

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// summing is a host whose tool bare is summarised, by answer.
func summing(t *testing.T, book *guesttest.LogBook, change func(*Config), answer func(SummaryRequest) (Summary, error)) (*Session, *[]SummaryRequest) {
	t.Helper()
	var asked []SummaryRequest
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	h := open(t, drop(t, "probe"), func(c *Config) {
		c.Tools = map[string]ToolConfig{"bare": {Limits: tool.Limits{Strategy: tool.Summarize, MaxChars: 1000}}}
		c.Logger, c.Now = book.Logger(), func() time.Time { return now }
		c.Summarise = func(_ context.Context, r SummaryRequest) (Summary, error) {
			asked = append(asked, r)
			now = now.Add(1500 * time.Millisecond)
			return answer(r)
		}
		if change != nil {
			change(c)
		}
	})
	return h.Session("me", "c1"), &asked
}

func TestSummarise(t *testing.T) {
	book := &guesttest.LogBook{}
	s, asked := summing(t, book, func(c *Config) { c.SummariseOver = 5000 }, func(SummaryRequest) (Summary, error) {
		return Summary{Text: "many numbered lines", Model: "ark", TokensIn: 2500, TokensOut: 4}, nil
	})
	if r := call(t, s, "bare", `{"Lines":100,"Width":50}`); r.Shown.Summarized || len(*asked) != 0 || r.Summary != nil {
		t.Errorf("5,000 characters are not over 5,000: %+v", r.Shown)
	}
	r := call(t, s, "bare", `{"Lines":101,"Width":50}`)
	if !r.Shown.Summarized || !strings.Contains(r.Shown.Text, "many numbered lines") || r.Ref == nil {
		t.Errorf("%+v", r.Shown)
	}
	if len(*asked) != 1 || len((*asked)[0].Text) != 5050 || (*asked)[0].Tool != "bare" || (*asked)[0].Chars > 1000 {
		t.Errorf("asked %+v", *asked)
	}
	if r.Summary == nil || *r.Summary != (tool.SummaryCost{Model: "ark", TokensIn: 2500, TokensOut: 4, Millis: 1500}) {
		t.Errorf("it cost %+v", r.Summary)
	}
	for _, want := range []string{"summarized=true", "summary_model=ark", "summary_tokens_in=2500", "summary_tokens_out=4", "summary_ms=1500"} {
		if !strings.Contains(book.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, book)
		}
	}
}

// The operator's threshold for one tool replaces the general one.
func TestSummariseOverOfATool(t *testing.T) {
	s, asked := summing(t, &guesttest.LogBook{}, func(c *Config) {
		c.SummariseOver = 100_000
		bare := c.Tools["bare"]
		bare.SummariseOver = 3000
		c.Tools["bare"] = bare
	}, func(SummaryRequest) (Summary, error) { return Summary{Text: "short"}, nil })
	call(t, s, "bare", `{"Lines":60,"Width":50}`)
	if r := call(t, s, "bare", `{"Lines":61,"Width":50}`); !r.Shown.Summarized || len(*asked) != 1 {
		t.Errorf("asked %d times: %+v", len(*asked), r.Shown)
	}
}

func TestWhatIsSummarised(t *testing.T) {
	for _, row := range []struct {
		change func(*Config)
		tool   string
		args   string
		asked  int
		why    string
	}{
		{nil, "bare", `{"Lines":400,"Width":50}`, 0, "20,000 is the threshold when nobody says"},
		{nil, "bare", `{"Lines":401,"Width":50}`, 1, "over it"},
		{func(c *Config) { c.SummariseOver = -1 }, "bare", `{"Lines":400,"Width":50}`, 0, "negative means 20,000"},
		{func(c *Config) { c.SummariseOver = 1 }, "long", `{"Lines":401,"Width":50}`, 0, "a tool that did not ask for it"},
		{func(c *Config) {
			c.SummariseOver = 1
			c.Tools["bare"] = ToolConfig{Limits: tool.Limits{Strategy: tool.Summarize, MaxChars: 30000, MaxLines: 2000}}
		}, "bare", `{"Lines":401,"Width":50}`, 0, "what fits is shown whole"},
	} {
		s, asked := summing(t, &guesttest.LogBook{}, row.change, func(SummaryRequest) (Summary, error) { return Summary{Text: "short"}, nil })
		if r := call(t, s, row.tool, row.args); len(*asked) != row.asked || r.Shown.Summarized != (row.asked > 0) {
			t.Errorf("%s: asked %d times, summarised %v", row.why, len(*asked), r.Shown.Summarized)
		}
	}
}

// Whatever goes wrong with a summary, the cut text is shown, and what the
// attempt cost is in the result.
func TestSummaryFallsBack(t *testing.T) {
	for _, row := range []struct {
		sum   Summary
		err   error
		falls bool
		why   string
	}{
		{Summary{Model: "ark", TokensIn: 9}, errors.New("no model"), true, "the model fails"},
		{Summary{Model: "ark", TokensIn: 9, Text: "half"}, errors.New("cut off"), true, "half a summary is none"},
		{Summary{Model: "ark", TokensIn: 9, Text: " \n\x1b[0m"}, nil, true, "nothing remains of it"},
		{Summary{Model: "ark", TokensIn: 9, Text: strings.Repeat("too long ", 900)}, nil, false, "one that is too long is cut"},
	} {
		s, _ := summing(t, &guesttest.LogBook{}, func(c *Config) { c.SummariseOver = 5000 }, func(SummaryRequest) (Summary, error) { return row.sum, row.err })
		r := call(t, s, "bare", `{"Lines":200,"Width":50}`)
		if r.Shown.Summarized == row.falls || !r.Shown.Cut() || r.Err != nil || strings.Contains(r.Shown.Text, "line 1 ") != row.falls {
			t.Errorf("%s: %+v", row.why, r.Shown)
		}
		if r.Summary == nil || r.Summary.Model != "ark" || r.Summary.TokensIn != 9 || r.Summary.Millis != 1500 {
			t.Errorf("%s: it cost %+v", row.why, r.Summary)
		}
		for _, l := range []tool.Locale{tool.En, tool.Zh} {
			if n, _ := limit.Count(limit.Render(r, l)); n > 1000 {
				t.Errorf("%s: %d characters", row.why, n)
			}
		}
	}
}
